-- Templates of a domain in the order of a page, templates of one name in any domain, and the domain of a return-path host.
CREATE INDEX template_place ON template (domain, seq);
CREATE INDEX template_name ON template (name, seq);
CREATE INDEX domain_return_host ON domain (settings ->> '$.returnPathHost');
