/** The paths of the connector, below the address of the API. */

/**
 * Paths of the WebSockets of the connector.
 *
 * @example
 * const address = `wss://${host}${connectorPaths.posListener}`;
 */
export const connectorPaths = {
  deviceListener: '/cloud-connector/v1/device-listener',
  /** The prefix of a device connection, before its identifier. */
  deviceConnections: '/cloud-connector/v1/device-connections',
  posListener: '/cloud-connector/v1/pos-listener',
  /** The prefix of a session, before its identifier. */
  sessions: '/cloud-connector/v1/sessions',
} as const;
