// Assembles device security: certificate authority, certificates, credentials and terminal claims.
import { throwProblem } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { type CertificateReader, createCertificateReader } from '../../http/index.ts';
import type { Clock, Database, Environment, Ids, Log } from '../../platform/index.ts';
import type { Applications } from '../clients/applications.ts';
import { type RecordChange, recordNothing } from '../infrastructure/audit-port.ts';
import { createChangeCounter } from '../infrastructure/change-counter.ts';
import { createDeviceAuthorities } from './certificate-authority.ts';
import { registerCertificateRoutes } from './certificate-routes.ts';
import { createClaimTerminal } from './claim-terminal.ts';
import { registerCredentialRoutes } from './credential-and-claim-routes.ts';
import { createDeviceCertificateStore } from './device-certificate-sql.ts';
import { createDeviceCertificates, type DeviceCertificates } from './device-certificates.ts';
import { createDeviceCredentials, type DeviceCredentials } from './device-credentials.ts';
import { createDeviceSecrets, type DeviceSecrets } from './device-secrets.ts';
import {
  createFindAuthenticatedDevice,
  type FindAuthenticatedDevice,
} from './find-authenticated-device.ts';
import type {
  CertificateHolder,
  FindDevice,
  FindMerchantName,
  FindTerminal,
  TerminalClaims,
} from './types.ts';
import { createDeviceCertificateValidator } from './validate-certificate.ts';

export { devicePathPrefix, deviceTokenPath } from './credential-and-claim-routes.ts';

const defaultCertificateDays = 365;

export type DeviceSettings = {
  /** A file with PEM certificates of the operator's device authorities. */
  readonly deviceCaFile?: string | undefined;
  readonly deviceCertificateDays?: number | undefined;
  /** Addresses and ranges of the proxy that may forward client certificates. */
  readonly trustProxy?: readonly string[] | undefined;
  /** In production, only claimed terminals connect; default: production. */
  readonly environment?: Environment;
};

export type DeviceSecurityDeps = {
  readonly database: Database;
  readonly settings: DeviceSettings;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly masterKey: Buffer;
  readonly applications: Applications;
  readonly findDevice: FindDevice;
  readonly findTerminal?: FindTerminal | undefined;
  readonly findMerchantName?: FindMerchantName | undefined;
  readonly terminalClaims?: TerminalClaims | undefined;
  readonly recordChange?: RecordChange | undefined;
};

const noTerminal: FindTerminal = async () =>
  throwProblem('device_not_found', 'The device does not exist.');
const noMerchantName: FindMerchantName = async () =>
  throwProblem('merchant_not_found', 'The merchant does not exist.');

const noTerminalClaims: TerminalClaims = {
  claimByCertificate: async () => undefined,
  storeClaimCode: async () => {},
};

type CertificateKey = { readonly organizationId: string; readonly thumbprint: string };

export type Devices = {
  /** Reads and validates the client certificate of a request. */
  readonly reader: CertificateReader<CertificateHolder>;
  readonly certificates: DeviceCertificates;
  readonly verifySecret: DeviceSecrets['verify'];
  /** The thumbprints of certificates that are neither revoked nor expired. */
  findActiveCertificates(holders: readonly CertificateKey[]): Promise<ReadonlySet<string>>;
  /** PEM certificates of all trusted authorities; creates the platform's authority on first use. */
  authorities(): Promise<string[]>;
  readonly findAuthenticatedDevice: FindAuthenticatedDevice;
  readonly userDomainOf: DeviceCredentials['userDomainOf'];
  register(app: FastifyInstance): Promise<void>;
};

export function createDevices(deps: DeviceSecurityDeps): Devices {
  const { database, settings, clock, ids, masterKey, findDevice, applications } = deps;
  const { findTerminal = noTerminal, findMerchantName = noMerchantName } = deps;
  const { terminalClaims = noTerminalClaims } = deps;
  const store = createDeviceCertificateStore(database);
  // A separate counter, so that a changed application does not recheck every connection.
  const changeCounter = createChangeCounter();
  const authorities = createDeviceAuthorities({
    store,
    clock,
    masterKey,
    authorityFile: settings.deviceCaFile,
  });
  const validator = createDeviceCertificateValidator({
    authorities,
    store,
    clock,
    changeCounter,
    requiresClaims: (settings.environment ?? 'production') === 'production',
  });
  const reader = createCertificateReader({
    trustedProxy: settings.trustProxy,
    verifier: validator,
    clock,
  });
  const { recordChange = recordNothing } = deps;
  const certificates = createDeviceCertificates({
    authorities,
    store,
    findTerminal,
    clock,
    ids,
    log: deps.log,
    changeCounter,
    certificateDays: settings.deviceCertificateDays ?? defaultCertificateDays,
    recordChange,
  });
  const claimTerminal = createClaimTerminal({
    validator,
    authorities,
    certificates,
    store,
    terminalClaims,
    clock,
    changeCounter,
  });
  const secrets = createDeviceSecrets({ database, clock, ids, recordChange });
  const findAuthenticatedDevice = createFindAuthenticatedDevice({ findDevice, findTerminal });
  const credentials = createDeviceCredentials({
    applications,
    store,
    secrets,
    findAuthenticatedDevice,
    findMerchantName,
  });

  return {
    reader,
    certificates,
    verifySecret: secrets.verify,
    async findActiveCertificates(holders) {
      if (holders.length === 0) return new Set();
      const thumbprints = await store.findActive(
        holders.map(({ organizationId }) => organizationId),
        holders.map(({ thumbprint }) => thumbprint),
        clock.now(),
      );
      return new Set(thumbprints);
    },
    authorities: async () => (await authorities.trustedAuthorities()).map((one) => one.toString()),
    findAuthenticatedDevice,
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
