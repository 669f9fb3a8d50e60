// Creates the HSM adapter that the settings select, with its key table and its limits.
import { readFileSync } from 'node:fs';
import { defined } from '@switchyard/contract';
import {
  type Clock,
  createAwsClient,
  type Log,
  type Metrics,
  type Settings,
} from '../../platform/index.ts';
import { createAwsHsm } from './aws-payment-cryptography.ts';
import { demoEntries } from './demo-keys.ts';
import { guardHsm } from './hsm-request-limits.ts';
import type { OpenableHsm } from './hsm-types.ts';
import { KeyTableFault, keyTableOf, loadKeyTable } from './key-table.ts';
import { createAbsentHsm } from './no-hsm.ts';
import { createPayShieldLink } from './payshield-connections.ts';
import { createPayShieldHsm } from './payshield-hsm.ts';
import { createSoftwareHsm } from './software-hsm.ts';
import {
  softwareKeysFileIn,
  softwareMasterKey,
  softwareMasterKeyFileIn,
  storedEntries,
} from './software-key-storage.ts';

export type HsmSettings = Pick<
  Settings,
  | 'environment'
  | 'dataDir'
  | 'hsm'
  | 'hsmKeysFile'
  | 'hsmTimeoutMs'
  | 'hsmMaxConcurrentRequests'
  | 'hsmPinBlockPan'
  | 'hsmAddresses'
  | 'hsmHeaderLength'
  | 'hsmTlsCaFile'
  | 'hsmTlsCertFile'
  | 'hsmTlsKeyFile'
  | 'hsmAwsDataUrl'
  | 'hsmAwsControlUrl'
  | 'awsRegion'
  | 'awsAccessKeyId'
  | 'awsSecretAccessKey'
  | 'awsSessionToken'
>;

export type HsmDeps = {
  readonly settings: HsmSettings;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
};

const awsService = 'payment-cryptography';
/** The settings reader already checks these values; this error is for settings built in code. */
const missing = (name: string): never => {
  throw new KeyTableFault(`SWITCHYARD_${name} must be set`);
};

const tableOf = ({ hsmKeysFile }: HsmSettings) =>
  loadKeyTable(hsmKeysFile ?? missing('HSM_KEYS_FILE'));

const readIf = (file: string | undefined): Buffer | undefined =>
  file === undefined ? undefined : readFileSync(file);

function softwareOf({ settings }: HsmDeps): OpenableHsm {
  // The settings reader also refuses this: no clear PIN may be in a production process.
  if (settings.environment === 'production') {
    throw new KeyTableFault('the software HSM is for demo and test');
  }
  const { dataDir, hsmPinBlockPan } = settings;
  const masterKey = softwareMasterKey(softwareMasterKeyFileIn(dataDir));
  const file = softwareKeysFileIn(dataDir);
  const table = keyTableOf([...demoEntries(masterKey), ...storedEntries(file)], file);
  const format4Pan = hsmPinBlockPan === 'full' ? 'Full' : 'TwelveDigits';
  return createSoftwareHsm({ table, masterKey, format4Pan });
}

function awsOf({ settings, log, clock }: HsmDeps): OpenableHsm {
  const { hsmTimeoutMs: timeoutMs, hsmMaxConcurrentRequests: connections } = settings;
  const region = settings.awsRegion ?? missing('AWS_REGION');
  const credentials = {
    accessKeyId: settings.awsAccessKeyId ?? missing('AWS_ACCESS_KEY_ID'),
    secretAccessKey: settings.awsSecretAccessKey ?? missing('AWS_SECRET_ACCESS_KEY'),
    sessionToken: settings.awsSessionToken,
  };
  const connect = (plane: 'data' | 'control', given: string | undefined) =>
    createAwsClient({
      service: awsService,
      region,
      credentials,
      clock,
      timeoutMs,
      connections,
      endpoint: given ?? `https://${plane}plane.${awsService}.${region}.amazonaws.com`,
    });
  return createAwsHsm({
    table: tableOf(settings),
    log,
    data: connect('data', settings.hsmAwsDataUrl),
    control: connect('control', settings.hsmAwsControlUrl),
    format4Pan: settings.hsmPinBlockPan,
  });
}

function payShieldOf({ settings, log }: HsmDeps): OpenableHsm {
  const ca = readIf(settings.hsmTlsCaFile);
  const cert = readIf(settings.hsmTlsCertFile);
  const key = readIf(settings.hsmTlsKeyFile);
  const link = createPayShieldLink({
    addresses: settings.hsmAddresses ?? missing('HSM_ADDRESSES'),
    headerLength: settings.hsmHeaderLength,
    timeoutMs: settings.hsmTimeoutMs,
    connections: settings.hsmMaxConcurrentRequests,
    tls: defined({ ca, cert, key }),
  });
  return createPayShieldHsm({ table: tableOf(settings), log, link });
}

const makers = {
  none: createAbsentHsm,
  software: softwareOf,
  aws: awsOf,
  payshield: payShieldOf,
} as const satisfies Readonly<Record<Settings['hsm'], (deps: HsmDeps) => OpenableHsm>>;

/**
 * Creates the HSM of the settings; `start` compares the check values of its keys.
 *
 * @throws KeyTableFault if its key table is not usable
 * @example const hsm = createHsm({ settings, log, metrics, clock }); await hsm.start();
 */
export function createHsm(deps: HsmDeps): OpenableHsm {
  const { settings, metrics } = deps;
  const { hsmMaxConcurrentRequests: inFlight, hsmTimeoutMs: timeoutMs } = settings;
  return guardHsm(makers[settings.hsm](deps), { metrics, inFlight, timeoutMs });
}
