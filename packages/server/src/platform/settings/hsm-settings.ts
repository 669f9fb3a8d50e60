// Settings of the hardware security module and of AWS.
import { isLoopbackHost } from '../net/address-classes.ts';
import { choice, filePath, integer, listOf, text, ValueError } from './value-readers.ts';

export type HsmAddress = { readonly host: string; readonly port: number; readonly tls: boolean };

const maxAddresses = 16;
const maxPort = 65_535;

function parseHsmAddress(part: string): HsmAddress {
  const [, protocol, hostText = '', digits] =
    /^(tcp|tls):\/\/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,255}):(\d{1,5})$/.exec(part) ?? [];
  const port = Number(digits);
  if (protocol === undefined || port < 1 || port > maxPort) {
    throw new ValueError(`holds "${part}", not tls://host:port or tcp://host:port`);
  }
  return { host: hostText.replace(/^\[|\]$/g, ''), port, tls: protocol === 'tls' };
}

const hsmAddresses = listOf('tls://host:port or tcp://host:port', maxAddresses, parseHsmAddress);

const serviceUrl = text(
  'https URL, or http on loopback',
  /^(?:https:\/\/[A-Za-z0-9.:[\]-]{1,255}|http:\/\/(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::\d{1,5})?)$/,
);

const role = 'cards';

export const hsmSettings = {
  hsm: {
    ...choice('none', 'software', 'aws', 'payshield'),
    name: 'HSM',
    description:
      'The hardware security module (HSM) that translates PINs, generates MACs and decrypts card data of devices. `software` is for demo and test. With `none`, requests that need an HSM are refused.',
    defaultDescription: '`software` in `demo` and `test`, `none` in `production`',
    role,
  },
  hsmKeysFile: {
    ...filePath,
    name: 'HSM_KEYS_FILE',
    description: 'JSON file that lists the keys in the HSM, for `aws` and `payshield`.',
    role,
  },
  hsmTimeoutMs: {
    ...integer(50, 30_000),
    name: 'HSM_TIMEOUT_MS',
    description: 'Time-out of a request to the HSM, in milliseconds.',
    default: '2000',
    role,
  },
  hsmMaxConcurrentRequests: {
    ...integer(1, 1000),
    name: 'HSM_MAX_CONCURRENT_REQUESTS',
    description:
      'Maximum number of concurrent requests to the HSM, and of open connections. Up to four times this number of requests can wait. The platform refuses further requests.',
    default: '32',
    role,
  },
  hsmPinBlockPan: {
    ...choice('full', 'twelve'),
    name: 'HSM_PIN_BLOCK_PAN',
    description:
      'Part of the card number in PIN blocks of format 4: `full`, or the `twelve` digits before the check digit. Set it as the PIN pads are configured.',
    default: 'full',
    role,
  },
  hsmAddresses: {
    ...hsmAddresses,
    name: 'HSM_ADDRESSES',
    description:
      'Addresses of the payShield modules, which must have the same keys. In `production` `tcp` is for loopback only.',
    role,
  },
  hsmHeaderLength: {
    ...integer(1, 12),
    name: 'HSM_HEADER_LENGTH',
    description:
      'Number of header characters before each host command, as configured in the payShield.',
    default: '4',
    role,
  },
  hsmTlsCaFile: {
    ...filePath,
    name: 'HSM_TLS_CA_FILE',
    description: 'Certificates of the authorities that issued the payShield certificates, PEM.',
    defaultDescription: 'the authorities of the machine',
    role,
  },
  hsmTlsCertFile: {
    ...filePath,
    name: 'HSM_TLS_CERT_FILE',
    description: 'Client certificate for the payShield modules, PEM.',
    role,
  },
  hsmTlsKeyFile: {
    ...filePath,
    name: 'HSM_TLS_KEY_FILE',
    description: 'Private key of the certificate in `HSM_TLS_CERT_FILE`, PEM.',
    role,
  },
  hsmAwsDataUrl: {
    ...serviceUrl,
    name: 'HSM_AWS_DATA_URL',
    description: 'Data plane endpoint of AWS Payment Cryptography, such as a private endpoint.',
    defaultDescription: '`https://dataplane.payment-cryptography.{AWS_REGION}.amazonaws.com`',
    role,
  },
  hsmAwsControlUrl: {
    ...serviceUrl,
    name: 'HSM_AWS_CONTROL_URL',
    description: 'Control plane endpoint of AWS Payment Cryptography.',
    defaultDescription: '`https://controlplane.payment-cryptography.{AWS_REGION}.amazonaws.com`',
    role,
  },
  awsRegion: {
    ...text('AWS region', /^[a-z]{2}(?:-[a-z]+)+-\d{1,2}$/),
    name: 'AWS_REGION',
    description: 'AWS region of AWS Payment Cryptography.',
    role,
  },
  awsAccessKeyId: {
    ...text('access key ID', /^[A-Z0-9]{16,128}$/),
    name: 'AWS_ACCESS_KEY_ID',
    description: 'AWS access key ID.',
    role,
  },
  awsSecretAccessKey: {
    ...text('secret access key', /^[A-Za-z0-9/+=]{16,128}$/),
    name: 'AWS_SECRET_ACCESS_KEY',
    description: 'AWS secret access key.',
    secret: true,
    role,
  },
  awsSessionToken: {
    ...text('session token', /^[A-Za-z0-9/+=._-]{1,4096}$/),
    name: 'AWS_SESSION_TOKEN',
    description: 'AWS session token for temporary credentials.',
    secret: true,
    role,
  },
} as const;

type HsmValues = {
  readonly hsm: 'none' | 'software' | 'aws' | 'payshield' | undefined;
  readonly hsmKeysFile: string | undefined;
  readonly hsmAddresses: readonly HsmAddress[] | undefined;
  readonly hsmTlsCertFile: string | undefined;
  readonly hsmTlsKeyFile: string | undefined;
  readonly awsRegion: string | undefined;
  readonly awsAccessKeyId: string | undefined;
  readonly awsSecretAccessKey: string | undefined;
};

type HsmRule = (values: HsmValues) => string | false | undefined;

const neededByAws = [
  ['awsRegion', 'AWS_REGION'],
  ['awsAccessKeyId', 'AWS_ACCESS_KEY_ID'],
  ['awsSecretAccessKey', 'AWS_SECRET_ACCESS_KEY'],
] as const;

export const hsmRules: readonly HsmRule[] = [
  ({ hsm, hsmKeysFile }) =>
    (hsm === 'aws' || hsm === 'payshield') &&
    hsmKeysFile === undefined &&
    `SWITCHYARD_HSM_KEYS_FILE must be set with SWITCHYARD_HSM=${hsm}`,
  ({ hsm, hsmAddresses: addresses }) =>
    hsm === 'payshield' &&
    addresses === undefined &&
    'SWITCHYARD_HSM_ADDRESSES must be set with SWITCHYARD_HSM=payshield',
  ({ hsmTlsCertFile, hsmTlsKeyFile }) =>
    (hsmTlsCertFile === undefined) !== (hsmTlsKeyFile === undefined) &&
    'SWITCHYARD_HSM_TLS_CERT_FILE and SWITCHYARD_HSM_TLS_KEY_FILE must be set together',
  ...neededByAws.map(
    ([key, name]): HsmRule =>
      (values) =>
        values.hsm === 'aws' &&
        values[key] === undefined &&
        `SWITCHYARD_${name} must be set with SWITCHYARD_HSM=aws`,
  ),
];

export const hsmProductionRules: readonly HsmRule[] = [
  ({ hsm }) => hsm === 'software' && 'SWITCHYARD_HSM is software, which is for demo and test',
  ({ hsmAddresses: addresses }) =>
    addresses?.some(({ tls, host }) => !tls && !isLoopbackHost(host)) === true &&
    'SWITCHYARD_HSM_ADDRESSES must be tls:// for other machines',
];
