// Device security put together: the authority, the certificates, and what a device gets for one.
import { refuse } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { type CertificateReader, createCertificateReader } from '../../http/index.ts';
import type { Clock, Database, Environment, Ids, Log } from '../../platform/index.ts';
import type { Applications } from '../clients/applications.ts';
import { type RecordChange, recordNothing } from '../infrastructure/audit-port.ts';
import { createRevision } from '../infrastructure/change-counter.ts';
import { createAuthorities } from './certificate-authority.ts';
import { registerCertificateRoutes } from './certificate-routes.ts';
import { registerCredentialRoutes } from './credential-and-claim-routes.ts';
import { createDeviceStore } from './device-certificate-sql.ts';
import { createDeviceCertificates, type DeviceCertificates } from './device-certificates.ts';
import { createDeviceCredentials, type DeviceCredentials } from './device-credentials.ts';
import { createDeviceSecrets, type DeviceSecrets } from './device-secrets.ts';
import { createFindPresented, type FindPresented } from './find-authenticated-device.ts';
import { createClaimTerminal } from './terminal-claims.ts';
import type {
  CertificateHolder,
  FindDevice,
  FindHardware,
  NameMerchant,
  TerminalClaims,
} from './types.ts';
import { createCertificateJudge } from './validate-certificate.ts';

export { devicePrefix, deviceTokenPath } from './credential-and-claim-routes.ts';

const certificateDaysDefault = 365;

export type DeviceSettings = {
  /** PEM certificates of the operator's own device authorities. */
  readonly deviceCaFile?: string | undefined;
  readonly deviceCertificateDays?: number | undefined;
  /** Addresses and ranges of the proxy that may hand on certificates. */
  readonly trustProxy?: readonly string[] | undefined;
  /** In production only claimed terminals connect; left out, as in production. */
  readonly environment?: Environment;
};

export type DevicesDeps = {
  readonly database: Database;
  readonly settings: DeviceSettings;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly masterKey: Buffer;
  readonly applications: Applications;
  readonly findDevice: FindDevice;
  readonly findHardware?: FindHardware | undefined;
  readonly nameMerchant?: NameMerchant | undefined;
  readonly terminalClaims?: TerminalClaims | undefined;
  readonly recordChange?: RecordChange | undefined;
};

const noHardware: FindHardware = async () => refuse('device_not_found', 'There is no device.');
const noMerchant: NameMerchant = async () => refuse('merchant_not_found', 'There is no merchant.');

const noClaims: TerminalClaims = {
  claimByCertificate: async () => undefined,
  rememberCode: async () => {},
};

type Bound = { readonly organizationId: string; readonly thumbprint: string };

export type Devices = {
  /** Reads and judges what a peer shows. */
  readonly reader: CertificateReader<CertificateHolder>;
  readonly certificates: DeviceCertificates;
  readonly checkSecret: DeviceSecrets['check'];
  /** The thumbprints among them whose certificates are good now. */
  standing(holders: readonly Bound[]): Promise<ReadonlySet<string>>;
  /** PEM of every authority that vouches for devices; the first one is made when there is none. */
  authorities(): Promise<string[]>;
  readonly findPresented: FindPresented;
  readonly userDomainOf: DeviceCredentials['userDomainOf'];
  register(app: FastifyInstance): Promise<void>;
};

export function createDevices(deps: DevicesDeps): Devices {
  const { database, settings, clock, ids, masterKey, findDevice, applications } = deps;
  const { findHardware = noHardware, nameMerchant = noMerchant } = deps;
  const { terminalClaims = noClaims } = deps;
  const store = createDeviceStore(database);
  // Of its own, so that a changed application does not have every connection judged again.
  const revision = createRevision();
  const authorities = createAuthorities({
    store,
    clock,
    masterKey,
    authorityFile: settings.deviceCaFile,
  });
  const judge = createCertificateJudge({
    authorities,
    store,
    clock,
    revision,
    requiresClaims: (settings.environment ?? 'production') === 'production',
  });
  const reader = createCertificateReader({ trustedProxy: settings.trustProxy, judge, clock });
  const { recordChange = recordNothing } = deps;
  const certificates = createDeviceCertificates({
    authorities,
    store,
    findHardware,
    clock,
    ids,
    log: deps.log,
    revision,
    certificateDays: settings.deviceCertificateDays ?? certificateDaysDefault,
    recordChange,
  });
  const claimTerminal = createClaimTerminal({
    judge,
    authorities,
    certificates,
    store,
    terminalClaims,
    clock,
    revision,
  });
  const secrets = createDeviceSecrets({ database, clock, ids, recordChange });
  const findPresented = createFindPresented({ findDevice, findHardware });
  const credentials = createDeviceCredentials({
    applications,
    store,
    secrets,
    findPresented,
    nameMerchant,
  });

  return {
    reader,
    certificates,
    checkSecret: secrets.check,
    async standing(holders) {
      if (holders.length === 0) return new Set();
      const found = await store.standing(
        holders.map(({ organizationId }) => organizationId),
        holders.map(({ thumbprint }) => thumbprint),
        clock.now(),
      );
      return new Set(found);
    },
    authorities: async () => (await authorities.trusted()).map((one) => one.toString()),
    findPresented,
    userDomainOf: credentials.userDomainOf,
    async register(app) {
      await app.register((scope, _options, done) => {
        registerCertificateRoutes(scope, certificates);
        done();
      });
      registerCredentialRoutes(app, { certificates: reader, claimTerminal, credentials });
    },
  };
}
