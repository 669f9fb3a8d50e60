// What the connector is given, and how patient it is.
import { connectorLimits } from '@switchyard/contract';
import type { AuditRecorder } from '../audit/index.ts';
import type { Catalog } from '../catalog/index.ts';
import type { CertificateReader, VerifyToken } from '../http/index.ts';
import type { CertificateHolder, ClientVerifier } from '../identity/index.ts';
import type { Clock, Database, Environment, Ids, Log, Metrics } from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import type { Nodes } from './nodes/index.ts';

export type ConnectorSettings = {
  /** In production only claimed terminals connect. */
  readonly environment: Environment;
  readonly baseUrl: string;
  readonly deviceAuthUrl: string;
  /** Where this very node is reached: addresses of its sessions begin so. */
  readonly connectorNodeUrl: string;
  readonly instanceName: string;
  /** Families of devices that are served, in lower case. */
  readonly connectorFamilies: readonly string[];
  /** Whether the address of a session is enough, or its POS shows its token again. */
  readonly connectorSessionAuth: 'url' | 'bearer';
  readonly connectorIdleSeconds: number;
  readonly connectorResumeSeconds: number;
  readonly connectorConnections: number;
};

/** All in milliseconds. */
export type ConnectorTimes = {
  readonly heartbeatMs: number;
  readonly registerWithinMs: number;
  readonly claimWithinMs: number;
  readonly connectionTokenMs: number;
  readonly sessionUrlMs: number;
  readonly resumeMs: number;
  readonly idleMs: number;
  readonly absoluteMs: number;
  /** How long a queue may be full before its reader is given up. */
  readonly slowMs: number;
  /** For so long after data has flowed a session is taken over by force alone. */
  readonly quietMs: number;
  /** How often it is asked again whether devices and callers still may. */
  readonly recheckMs: number;
  readonly tickMs: number;
  /** A node that had a device and does not answer by then may be gone: nobody waits longer for the device. */
  readonly formerMs: number;
  /** A device has to stand so for such a time before it is told as an event. */
  readonly steadyMs: number;
  /** Between two events of a device at the least. */
  readonly tellAgainMs: number;
  /** How often it is looked for what is to be told. */
  readonly tellMs: number;
};

export type ConnectorDeps = {
  readonly settings: ConnectorSettings;
  readonly masterKey: Buffer;
  readonly database: Database;
  readonly verifyToken: VerifyToken;
  readonly certificates: CertificateReader<CertificateHolder>;
  readonly clients: ClientVerifier;
  readonly provisioning: Pick<Provisioning, 'terminals'> & {
    readonly terminalClaims: Pick<Provisioning['terminalClaims'], 'rememberCode'>;
  };
  readonly catalog: Pick<Catalog, 'activeServices' | 'activeAt' | 'explain'>;
  readonly audit: Pick<AuditRecorder, 'record'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Left out: this node is the only one. */
  readonly nodes?: Nodes | undefined;
  /** Left out in part: as the protocol says. */
  readonly times?: Partial<ConnectorTimes> | undefined;
};

const second = 1000;

export function timesOf(
  settings: ConnectorSettings,
  given: Partial<ConnectorTimes> = {},
): ConnectorTimes {
  return {
    heartbeatMs: connectorLimits.heartbeatSeconds * second,
    registerWithinMs: connectorLimits.registerWithinSeconds * second,
    claimWithinMs: 60 * second,
    connectionTokenMs: connectorLimits.connectionTokenSeconds * second,
    sessionUrlMs: connectorLimits.sessionUrlSeconds * second,
    resumeMs: settings.connectorResumeSeconds * second,
    idleMs: settings.connectorIdleSeconds * second,
    absoluteMs: 86_400 * second,
    slowMs: 10 * second,
    quietMs: 150 * second,
    recheckMs: 30 * second,
    tickMs: 500,
    formerMs: 500,
    steadyMs: 10 * second,
    tellAgainMs: 60 * second,
    tellMs: 5 * second,
    ...given,
  };
}
