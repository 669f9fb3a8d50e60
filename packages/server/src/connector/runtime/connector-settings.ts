// Defines the settings and the time limits of the connector.
import { connectorLimits } from '@switchyard/contract';
import type { Environment } from '../../platform/index.ts';

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
  readonly sessionMaxMs: number;
  /** How long a queue may remain full before the server disconnects its reader. */
  readonly slowReaderMs: number;
  /** For this time after the last data, a client can take over a session only with `force`. */
  readonly takeoverQuietMs: number;
  /** How often the server rechecks the rights of devices and callers. */
  readonly recheckMs: number;
  readonly tickMs: number;
  /** How long the server waits for the previous node of a device, which may be gone. */
  readonly previousNodeWaitMs: number;
  /** How long a device must keep its connection state before the server publishes an event. */
  readonly stateStableMs: number;
  /** The minimum time between two events of the same device. */
  readonly eventIntervalMs: number;
  /** How often the server looks for events to publish. */
  readonly eventPollMs: number;
};

const second = 1000;

export function connectorTimesOf(
  settings: ConnectorSettings,
  overrides: Partial<ConnectorTimes> = {},
): ConnectorTimes {
  return {
    heartbeatMs: connectorLimits.heartbeatSeconds * second,
    registerWithinMs: connectorLimits.registerWithinSeconds * second,
    claimWithinMs: 60 * second,
    connectionTokenMs: connectorLimits.connectionTokenSeconds * second,
    sessionUrlMs: connectorLimits.sessionUrlSeconds * second,
    resumeMs: settings.connectorResumeSeconds * second,
    idleMs: settings.connectorIdleSeconds * second,
    sessionMaxMs: 86_400 * second,
    slowReaderMs: 10 * second,
    takeoverQuietMs: 150 * second,
    recheckMs: 30 * second,
    tickMs: 500,
    previousNodeWaitMs: 500,
    stateStableMs: 10 * second,
    eventIntervalMs: 60 * second,
    eventPollMs: 5 * second,
    ...overrides,
  };
}
