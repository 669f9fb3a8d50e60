/** Where the connector listens, below the address of the API. */

/**
 * Paths of the WebSockets of the connector.
 *
 * @example
 * const address = `wss://${host}${connectorPaths.posListener}`;
 */
export const connectorPaths = {
  deviceListener: '/cloud-connector/v1/device-listener',
  /** One connection of a device follows: its identifier. */
  deviceConnections: '/cloud-connector/v1/device-connections',
  posListener: '/cloud-connector/v1/pos-listener',
  /** One session follows: its identifier. */
  sessions: '/cloud-connector/v1/sessions',
} as const;
