-- Acquirer links: the name of the certificate by which the platform shows an acquirer who it is.
ALTER TABLE acquirer_links ADD COLUMN client_certificate text;
