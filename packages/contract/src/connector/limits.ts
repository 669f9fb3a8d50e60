/** Sizes and times of the connector that both sides must know. */

/**
 * The size limits and time limits of a connection.
 *
 * @example
 * const socket = new WebSocket(url, { maxPayload: connectorLimits.messageMaxBytes });
 */
export const connectorLimits = {
  controlMessageMaxBytes: 4096,
  messageMaxBytes: 1_048_576,
  /** A connection that misses two pings counts as lost. */
  heartbeatSeconds: 25,
  registerWithinSeconds: 10,
  /** The lifetime of the token for the connection of a device. */
  connectionTokenSeconds: 120,
  /** The lifetime of an unused session address. */
  sessionUrlSeconds: 60,
  /** How long a session is kept for a point of sale that lost its connection. */
  resumeSeconds: 30,
  claimsPerConnection: 64,
  waitSecondsMax: 30,
  /** The longest random wait of a client before it reconnects after a restart. */
  restartPauseSeconds: 30,
} as const;
