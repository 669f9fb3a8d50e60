/** Sizes and times of the connector that both of its ends have to know. */

/**
 * What a connection may carry and how long it may be silent.
 *
 * @example
 * const socket = new WebSocket(url, { maxPayload: connectorLimits.messageMaxBytes });
 */
export const connectorLimits = {
  controlMessageMaxBytes: 4096,
  messageMaxBytes: 1_048_576,
  /** A connection that misses two pings is dead. */
  heartbeatSeconds: 25,
  registerWithinSeconds: 10,
  /** Of the token for the connection of a device. */
  connectionTokenSeconds: 120,
  /** Of a session address that nobody has used. */
  sessionUrlSeconds: 60,
  /** For which a session whose point of sale was cut off is kept for it. */
  resumeSeconds: 30,
  claimsPerConnection: 64,
  waitSecondsMax: 30,
  /** Reconnecting clients wait a random time up to this after a restart. */
  restartPauseSeconds: 30,
} as const;
