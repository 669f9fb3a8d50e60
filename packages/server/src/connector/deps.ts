// Defines the dependencies, settings and time limits of the connector.
import { connectorLimits } from '@switchyard/contract';
import type { AuditRecorder } from '../audit/index.ts';
import type { Catalog } from '../catalog/index.ts';
import type { CertificateReader, VerifyToken } from '../http/index.ts';
import type { CertificateHolder, ClientVerifier } from '../identity/index.ts';
import type { Clock, Database, Environment, Ids, Log, Metrics } from '../platform/index.ts';
import type { Provisioning } from '../provisioning/index.ts';
import type { Nodes } from './nodes/index.ts';

export type ConnectorSettings = {
  /** In production, only claimed terminals can connect. */
  readonly environment: Environment;
  readonly baseUrl: string;
  readonly deviceAuthUrl: string;
  /** The address of this node; the addresses of its sessions begin with it. */
  readonly connectorNodeUrl: string;
  readonly instanceName: string;
  /** The supported device families, in lower case. */
  readonly connectorFamilies: readonly string[];
  /**
   * With `url` the session address is sufficient; with `bearer` the POS must send its token again.
   */
  readonly connectorSessionAuth: 'url' | 'bearer';
  readonly connectorIdleSeconds: number;
  readonly connectorResumeSeconds: number;
  readonly connectorConnections: number;
};

/** All values are in milliseconds. */
export type ConnectorTimes = {
  readonly heartbeatMs: number;
  readonly registerWithinMs: number;
  readonly claimWithinMs: number;
  readonly connectionTokenMs: number;
  readonly sessionUrlMs: number;
  readonly resumeMs: number;
  readonly idleMs: number;
  readonly absoluteMs: number;
  /** How long a queue may remain full before the server disconnects its reader. */
  readonly slowMs: number;
  /** For this time after the last data, a client can take over a session only with `force`. */
  readonly quietMs: number;
  /** How often the server rechecks the rights of devices and callers. */
  readonly recheckMs: number;
  readonly tickMs: number;
  /** How long the server waits for the previous node of a device, which may be gone. */
  readonly formerMs: number;
  /** How long a device must keep its connection state before the server publishes an event. */
  readonly steadyMs: number;
  /** The minimum time between two events of the same device. */
  readonly tellAgainMs: number;
  /** How often the server looks for events to publish. */
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
  readonly catalog: Pick<
    Catalog,
    'listActiveServices' | 'findDevicesWithService' | 'explainDeviceServices'
  >;
  readonly audit: Pick<AuditRecorder, 'record'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Omitted if this node is the only one. */
  readonly nodes?: Nodes | undefined;
  /** Times that replace the defaults of the protocol. */
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
