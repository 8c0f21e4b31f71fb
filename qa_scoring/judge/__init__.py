"""The learned judge: is an answer correct, given the question and the references?"""
