// Certificates for tests of the platform module, which must not import the HTTP module.
export {
  makeCertificate,
  makeCertificateUntil,
} from '../../src/http/authentication/certificate.fixture.ts';
