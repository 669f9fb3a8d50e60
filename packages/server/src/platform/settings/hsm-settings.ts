// The settings of the hardware security module and of AWS: part of the one table, with rules of their own.
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
      'The hardware security module that translates PINs, makes MACs and decrypts card data of devices. `software` is for demo and test; with `none` whatever needs one is refused.',
    defaultDescription: '`software` in `demo` and `test`, `none` in `production`',
    role,
  },
  hsmKeysFile: {
    ...filePath,
    name: 'HSM_KEYS_FILE',
    description: 'The table of the keys in the module, with `aws` and `payshield`, JSON.',
    role,
  },
  hsmTimeoutMs: {
    ...integer(50, 30_000),
    name: 'HSM_TIMEOUT_MS',
    description: 'How long one request to the module may take.',
    default: '2000',
    role,
  },
  hsmMaxConcurrentRequests: {
    ...integer(1, 1000),
    name: 'HSM_MAX_CONCURRENT_REQUESTS',
    description:
      'How much the module is asked at one time, and how many connections are kept; four times as many requests wait for their turn.',
    default: '32',
    role,
  },
  hsmPinBlockPan: {
    ...choice('full', 'twelve'),
    name: 'HSM_PIN_BLOCK_PAN',
    description:
      'How much of the card number PIN pads take into PIN blocks of format 4: all of it, or the twelve digits left of the check digit.',
    default: 'full',
    role,
  },
  hsmAddresses: {
    ...hsmAddresses,
    name: 'HSM_ADDRESSES',
    description:
      'Where the payShield modules listen, all with the same keys; `tcp` is for loopback in `production`.',
    role,
  },
  hsmHeaderLength: {
    ...integer(1, 12),
    name: 'HSM_HEADER_LENGTH',
    description: 'Characters before each host command, as set in the payShield.',
    default: '4',
    role,
  },
  hsmTlsCaFile: {
    ...filePath,
    name: 'HSM_TLS_CA_FILE',
    description: 'Authorities that vouch for the payShield modules, PEM.',
    defaultDescription: 'those of the machine',
    role,
  },
  hsmTlsCertFile: {
    ...filePath,
    name: 'HSM_TLS_CERT_FILE',
    description: 'Our certificate for the payShield modules, PEM.',
    role,
  },
  hsmTlsKeyFile: {
    ...filePath,
    name: 'HSM_TLS_KEY_FILE',
    description: 'Private key of that certificate, PEM.',
    role,
  },
  hsmAwsDataUrl: {
    ...serviceUrl,
    name: 'HSM_AWS_DATA_URL',
    description:
      'Where the data plane of AWS Payment Cryptography answers, such as a private endpoint.',
    defaultDescription: '`https://dataplane.payment-cryptography.{AWS_REGION}.amazonaws.com`',
    role,
  },
  hsmAwsControlUrl: {
    ...serviceUrl,
    name: 'HSM_AWS_CONTROL_URL',
    description: 'Where its control plane answers.',
    defaultDescription: '`https://controlplane.payment-cryptography.{AWS_REGION}.amazonaws.com`',
    role,
  },
  awsRegion: {
    ...text('AWS region', /^[a-z]{2}(?:-[a-z]+)+-\d{1,2}$/),
    name: 'AWS_REGION',
    description: 'The region of the AWS services that hold keys.',
    role,
  },
  awsAccessKeyId: {
    ...text('access key id', /^[A-Z0-9]{16,128}$/),
    name: 'AWS_ACCESS_KEY_ID',
    description: 'Who we are to them.',
    role,
  },
  awsSecretAccessKey: {
    ...text('secret access key', /^[A-Za-z0-9/+=]{16,128}$/),
    name: 'AWS_SECRET_ACCESS_KEY',
    description: 'And how we prove it.',
    secret: true,
    role,
  },
  awsSessionToken: {
    ...text('session token', /^[A-Za-z0-9/+=._-]{1,4096}$/),
    name: 'AWS_SESSION_TOKEN',
    description: 'Of credentials that expire.',
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
    'SWITCHYARD_HSM_ADDRESSES must be tls:// beyond this machine',
];
