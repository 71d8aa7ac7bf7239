-- Contents of one domain, and their octets; queues of one sender domain.
CREATE INDEX content_domain ON content (domain_id, message_seq) INCLUDE (size);
CREATE INDEX dest_queue_sender ON dest_queue (sender_domain);
