// Certificates of no demo, for tests of the platform module, which does not know the HTTP module.
export {
  makeCertificate,
  makeCertificateUntil,
} from '../../src/http/authentication/certificate.fixture.ts';
