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
import { demoKeyEntries } from './demo-keys.ts';
import { limitHsmRequests } from './hsm-request-limits.ts';
import { HsmError, type StartableHsm } from './hsm-types.ts';
import { createKeyTable, KeyTableError, loadKeyTable } from './key-table.ts';
import { createPayShieldConnections } from './payshield-connections.ts';
import { createPayShieldHsm } from './payshield-hsm.ts';
import { createSoftwareHsm } from './software-hsm.ts';
import {
  readOrCreateSoftwareMasterKey,
  readStoredEntries,
  softwareKeysFile,
  softwareMasterKeyFile,
} from './software-key-storage.ts';

type HsmSettings = Pick<
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

type HsmDeps = {
  readonly settings: HsmSettings;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
};

const awsService = 'payment-cryptography';
/** The settings reader already checks these values; this error is for settings built in code. */
const throwMissingSetting = (name: string): never => {
  throw new KeyTableError(`SWITCHYARD_${name} must be set`);
};

const readTable = ({ hsmKeysFile }: HsmSettings) =>
  loadKeyTable(hsmKeysFile ?? throwMissingSetting('HSM_KEYS_FILE'));

const readOptionalFile = (file: string | undefined): Buffer | undefined =>
  file === undefined ? undefined : readFileSync(file);

function createSoftware({ settings }: HsmDeps): StartableHsm {
  // The settings reader also refuses this: no clear PIN may be in a production process.
  if (settings.environment === 'production') {
    throw new KeyTableError('the software HSM is for demo and test');
  }
  const { dataDir, hsmPinBlockPan } = settings;
  const masterKey = readOrCreateSoftwareMasterKey(softwareMasterKeyFile(dataDir));
  const file = softwareKeysFile(dataDir);
  const table = createKeyTable([...demoKeyEntries(masterKey), ...readStoredEntries(file)], file);
  const format4Pan = hsmPinBlockPan === 'full' ? 'Full' : 'TwelveDigits';
  return createSoftwareHsm({ table, masterKey, format4Pan });
}

function createAws({ settings, log, clock }: HsmDeps): StartableHsm {
  const { hsmTimeoutMs: timeoutMs, hsmMaxConcurrentRequests: connections } = settings;
  const region = settings.awsRegion ?? throwMissingSetting('AWS_REGION');
  const credentials = {
    accessKeyId: settings.awsAccessKeyId ?? throwMissingSetting('AWS_ACCESS_KEY_ID'),
    secretAccessKey: settings.awsSecretAccessKey ?? throwMissingSetting('AWS_SECRET_ACCESS_KEY'),
    sessionToken: settings.awsSessionToken,
  };
  const connect = (plane: 'data' | 'control', url: string | undefined) =>
    createAwsClient({
      service: awsService,
      region,
      credentials,
      clock,
      timeoutMs,
      connections,
      endpoint: url ?? `https://${plane}plane.${awsService}.${region}.amazonaws.com`,
    });
  return createAwsHsm({
    table: readTable(settings),
    log,
    data: connect('data', settings.hsmAwsDataUrl),
    control: connect('control', settings.hsmAwsControlUrl),
    format4Pan: settings.hsmPinBlockPan,
  });
}

function createPayShield({ settings, log }: HsmDeps): StartableHsm {
  const ca = readOptionalFile(settings.hsmTlsCaFile);
  const cert = readOptionalFile(settings.hsmTlsCertFile);
  const key = readOptionalFile(settings.hsmTlsKeyFile);
  const link = createPayShieldConnections({
    addresses: settings.hsmAddresses ?? throwMissingSetting('HSM_ADDRESSES'),
    headerLength: settings.hsmHeaderLength,
    timeoutMs: settings.hsmTimeoutMs,
    connections: settings.hsmMaxConcurrentRequests,
    tls: defined({ ca, cert, key }),
  });
  return createPayShieldHsm({ table: readTable(settings), log, connections: link });
}

const hsmFactories = {
  software: createSoftware,
  aws: createAws,
  payshield: createPayShield,
} as const satisfies Readonly<
  Record<Exclude<Settings['hsm'], 'none'>, (deps: HsmDeps) => StartableHsm>
>;

/**
 * Creates the HSM of the settings; `start` compares the check values of its keys.
 *
 * @throws KeyTableError if its key table is not usable
 * @example const hsm = createHsm({ settings, log, metrics, clock }); await hsm.start();
 */
export function createHsm(deps: HsmDeps): StartableHsm {
  const { settings, metrics } = deps;
  // Without an HSM there is no metric that would look like a fault.
  if (settings.hsm === 'none') return createNoHsm();
  const { hsmMaxConcurrentRequests: maxConcurrentRequests, hsmTimeoutMs: timeoutMs } = settings;
  return limitHsmRequests(hsmFactories[settings.hsm](deps), {
    metrics,
    maxConcurrentRequests,
    timeoutMs,
  });
}

export function createNoHsm(): StartableHsm {
  const throwUnavailable = async (): Promise<never> => {
    throw new HsmError('HsmUnavailable', 'no HSM is attached');
  };
  return {
    start: async () => {},
    translatePin: throwUnavailable,
    decryptData: throwUnavailable,
    mac: throwUnavailable,
    importKey: throwUnavailable,
    checkKey: throwUnavailable,
    mayUse: () => true,
    health: async () => 'down',
    close: async () => {},
  };
}
