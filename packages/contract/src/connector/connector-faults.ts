/** Close codes and fault codes of the connector. */

/**
 * The WebSocket close codes that the connector sends. RFC 6455, 7.4.1, defines those below 4000;
 * the others belong to the connector. A device receives no message when a point of sale
 * disconnects, because its connection continues after a session.
 *
 * @example
 * if (event.code === closeCodes.deviceDisconnected) await recoverByTransactionStatus();
 */
export const closeCodes = {
  /** A step of the protocol, such as a registration, is complete. */
  done: 1000,
  invalidText: 1007,
  messageTooLarge: 1009,
  /** The platform had an internal fault: register again, with growing pauses. */
  fault: 1011,
  /** The service restarts: reconnect after a random pause of up to 30 s. */
  restarting: 1012,
  /** The other side ended the session. */
  released: 4000,
  /** A newer connection replaced this one. */
  superseded: 4001,
  sessionExpired: 4002,
  deviceDisconnected: 4003,
  badMessage: 4400,
  unauthorized: 4401,
  roleMissing: 4403,
  deviceUnknown: 4404,
  deviceAmbiguous: 4406,
  timeout: 4408,
  deviceDisabled: 4423,
  /** The service is not subscribed, not enabled, or not available for this family of devices. */
  notServed: 4424,
  rateLimited: 4429,
  tokenExpired: 4441,
  slowConsumer: 4480,
} as const;

/**
 * One of the codes of `closeCodes`.
 *
 * @example
 * const code: CloseCode = closeCodes.released;
 */
export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes];

type ConnectorFault = {
  /** The close code of the fault; absent if the connection stays open. */
  readonly closeCode?: CloseCode;
  /** The HTTP status of a handshake that is refused with this fault. */
  readonly status?: number;
  /** Whether the same request can succeed later. */
  readonly retryable: boolean;
  readonly summary: string;
};

/**
 * The faults of the connector, by the code in `error.code`. An unknown terminal and a terminal of
 * another tenant have the same code, so that a tenant learns nothing about others.
 *
 * @example
 * connectorFaults.device_offline.retryable; // true
 */
export const connectorFaults = {
  bad_message: {
    closeCode: closeCodes.badMessage,
    status: 400,
    retryable: false,
    summary: 'The message is no JSON, or not one of the protocol, or not the one that is due.',
  },
  unauthorized: {
    closeCode: closeCodes.unauthorized,
    status: 401,
    retryable: false,
    summary: 'Credentials are missing or wrong, or have been taken back.',
  },
  token_expired: {
    closeCode: closeCodes.tokenExpired,
    status: 401,
    retryable: false,
    summary: 'The access token has expired; sessions that are open go on.',
  },
  role_missing: {
    closeCode: closeCodes.roleMissing,
    status: 403,
    retryable: false,
    summary: 'The application has not the role "Point-of-sale Terminal".',
  },
  origin_not_allowed: {
    status: 403,
    retryable: false,
    summary: 'A page in a browser cannot use the connector.',
  },
  device_unknown: {
    closeCode: closeCodes.deviceUnknown,
    retryable: false,
    summary: 'No terminal that you may see has this serial number.',
  },
  wrong_store: {
    retryable: false,
    summary: 'The terminal belongs to another store than the point of sale.',
  },
  tsn_ambiguous: {
    closeCode: closeCodes.deviceAmbiguous,
    retryable: false,
    summary: 'Several terminals have this serial number: give make and model too.',
  },
  timeout: {
    closeCode: closeCodes.timeout,
    retryable: true,
    summary: 'An expected message did not arrive in time.',
  },
  device_claimed: {
    retryable: true,
    summary: 'Another point of sale uses the terminal.',
  },
  takeover_refused: {
    retryable: true,
    summary: 'Data has flowed a moment ago; `force` takes the terminal over all the same.',
  },
  pos_id_required: {
    retryable: false,
    summary: 'An application of the aggregator says which point of sale claims, in `posId`.',
  },
  too_many_claims: {
    retryable: true,
    summary: 'This connection holds as many claims as it may.',
  },
  session_gone: {
    status: 410,
    retryable: false,
    summary: 'The session address was used, or is out of date.',
  },
  session_unknown: {
    retryable: false,
    summary: 'There is no such session of yours.',
  },
  device_disabled: {
    closeCode: closeCodes.deviceDisabled,
    retryable: false,
    summary: 'The terminal is not enabled.',
  },
  device_not_claimed: {
    closeCode: closeCodes.deviceDisabled,
    retryable: true,
    summary:
      'The terminal is not claimed: enter the claim code that it shows, or let it show the certificate of its manufacturer.',
  },
  not_subscribed: {
    closeCode: closeCodes.notServed,
    retryable: false,
    summary: 'The organisation has not subscribed to the Cloud Connector.',
  },
  not_enabled: {
    closeCode: closeCodes.notServed,
    retryable: false,
    summary: 'The Cloud Connector is not activated at the level that `level` names.',
  },
  family_not_supported: {
    closeCode: closeCodes.notServed,
    retryable: false,
    summary: 'The connector does not serve this family of devices.',
  },
  rate_limited: {
    closeCode: closeCodes.rateLimited,
    status: 429,
    retryable: true,
    summary: 'Too many connections or messages.',
  },
  device_offline: {
    retryable: true,
    summary: 'The terminal is not connected.',
  },
  node_unreachable: {
    status: 503,
    retryable: true,
    summary: 'The terminal is connected to another node, which cannot be reached at the moment.',
  },
  unavailable: {
    closeCode: closeCodes.fault,
    status: 503,
    retryable: true,
    summary: 'The platform met a fault of its own, such as a database that is away.',
  },
  restarting: {
    closeCode: closeCodes.restarting,
    status: 503,
    retryable: true,
    summary: 'The service restarts.',
  },
} as const satisfies Readonly<Record<string, ConnectorFault>>;

/**
 * A code of `connectorFaults`.
 *
 * @example
 * const code: ConnectorFaultCode = 'device_offline';
 */
export type ConnectorFaultCode = keyof typeof connectorFaults;
