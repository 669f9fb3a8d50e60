/** Schemas of device certificates, and of the merchant credentials of a device. */
import { type Static, Type } from 'typebox';
import { closed, identifier, shortText } from '../values-and-problems/resource-schemas.ts';
import { pageOf, Timestamp, wordOf } from '../values-and-problems/value-schemas.ts';

/** The revocation reasons of RFC 5280, 5.3.1, that apply to a device. */
const revocationReasons = [
  'Unspecified',
  'KeyCompromise',
  'Superseded',
  'CessationOfOperation',
  'PrivilegeWithdrawn',
] as const;

const pem = (description: string) =>
  Type.String({ minLength: 1, maxLength: 16_384, pattern: '^[\\t\\n\\r -~]*$', description });

/**
 * A request for a device certificate. It contains exactly one of two members: a PKCS#10 request
 * that the platform signs, or a certificate from the operator's own authority that the platform
 * registers.
 *
 * @example
 * const body: DeviceCertificateInput = { certificateRequest: pem };
 */
export const DeviceCertificateInput = closed(
  {
    certificateRequest: Type.Optional(
      pem('A PKCS#10 request (RFC 2986) as PEM. Its subject is not read: the platform sets it.'),
    ),
    certificate: Type.Optional(
      pem('A certificate of an authority of the operator (DEVICE_CA_FILE) as PEM.'),
    ),
  },
  'Exactly one of the two fields.',
);
export type DeviceCertificateInput = Static<typeof DeviceCertificateInput>;

const thumbprint = Type.String({
  pattern: '^[A-Za-z0-9_-]{43}$',
  description: 'The SHA-256 of the certificate in base64url: `x5t#S256` of the tokens.',
  examples: ['A4DtL2JmUMhAsvJj5tKyn64SqzmuXbMrJa0n761y5v0'],
});

const deviceCertificateFacts = {
  thumbprint,
  physicalDeviceId: identifier('The device.'),
  serialNumber: Type.String({
    description: 'The serial number of the terminal, which the certificate holds.',
    examples: ['10000001'],
  }),
  certificateSerial: Type.String({
    description: 'The serial number of the certificate itself, in hexadecimal.',
    examples: ['5f3a0c9be1d24f6ab8e07c9132d4a6f1'],
  }),
  status: wordOf(['Active', 'Expired', 'Revoked'], {
    description: 'Whether the certificate opens a connection.',
  }),
  notBefore: Timestamp,
  notAfter: Timestamp,
  createdAt: Timestamp,
  revokedAt: Type.Optional(Timestamp),
  revocationReason: Type.Optional(wordOf(revocationReasons)),
};

/**
 * A device certificate in a list.
 *
 * @example
 * const live = page.items.filter(({ status }) => status === 'Active');
 */
export const DeviceCertificateSummary = closed(deviceCertificateFacts, 'A device certificate.');
export type DeviceCertificateSummary = Static<typeof DeviceCertificateSummary>;

/**
 * A device certificate with its chain, for the device to store.
 *
 * @example
 * await writeFile('device.pem', certificate.certificateChain);
 */
export const DeviceCertificate = closed(
  {
    ...deviceCertificateFacts,
    certificateChain: Type.String({
      description: 'The certificate and its authority, in this order, as PEM.',
    }),
  },
  'A device certificate with its chain.',
);
export type DeviceCertificate = Static<typeof DeviceCertificate>;

/**
 * One page of the certificates of a device, the oldest first.
 *
 * @example
 * const { items } = (await response.json()) as Static<typeof DeviceCertificatePage>;
 */
export const DeviceCertificateList = pageOf(DeviceCertificateSummary);

/**
 * The reason of a revocation.
 *
 * @example
 * const body: DeviceCertificateRevocation = { reason: 'KeyCompromise' };
 */
export const DeviceCertificateRevocation = closed(
  {
    reason: Type.Optional(
      wordOf(revocationReasons, {
        default: 'Unspecified',
        description: 'After RFC 5280, 5.3.1.',
      }),
    ),
  },
  'Why a certificate is revoked.',
);
export type DeviceCertificateRevocation = Static<typeof DeviceCertificateRevocation>;

/**
 * The credentials of a merchant for which a device may act: one item of a JSON array.
 *
 * @example
 * const [own] = (await response.json()) as MerchantCredentials[];
 */
export const MerchantCredentials = closed(
  {
    merchantName: shortText(100, 'The name of the merchant.'),
    userDomain: Type.String({ description: 'The user domain, also called realm.' }),
    clientId: Type.String({ description: 'The application of the devices of this merchant.' }),
    clientSecret: Type.String({
      description: 'Made for this call and good with this certificate alone.',
    }),
  },
  'Credentials of a device for one merchant.',
);
export type MerchantCredentials = Static<typeof MerchantCredentials>;

/**
 * The merchant credentials of a device, as a JSON array.
 *
 * @example
 * const credentials = (await response.json()) as Static<typeof MerchantCredentialsList>;
 */
export const MerchantCredentialsList = Type.Array(MerchantCredentials);
