// What the bench and the process that asks for tokens say to each other.
export type TokenTarget = {
  host: string;
  port: number;
  /** Host and port, as the server calls itself. */
  authority: string;
  path: string;
  ca: string;
  /** A client's certificate and key, PEM, for mutual TLS. */
  cert?: string;
  key?: string;
};

/** A certificate with its key, PEM, and the request for its tokens. */
export type TokenDevice = { cert: string; key: string; form: string };

/**
 * `forms` are sent again and again, each connection beginning at another one. `chains` are refresh
 * tokens, one for each connection: every answer brings the next one.
 */
export type TokenLoadOrder = {
  /** Tells one part from another; chains go on where the part stopped before. */
  name: string;
  target: TokenTarget;
  forms: string[];
  chains?: { clientId: string; refreshToken: string }[];
  connections: number;
  /** For mutual TLS: the device of each connection, and its form. */
  devices?: TokenDevice[];
  /** Whether each token comes over a connection of its own, with a whole handshake. */
  newHandshakes: boolean;
};

export type ToTokenLoad =
  | { type: 'run'; work: TokenLoadOrder; seconds: number }
  /** Each form once, spread over the connections. */
  | { type: 'once'; work: TokenLoadOrder; paths: string[] };

export type TokenCounts = { answered: number; errors: Record<string, number> };

export type FromTokenLoad =
  | { type: 'window'; at: 'begin' | 'end'; answered: number }
  | ({ type: 'result' } & TokenCounts)
  | { type: 'fault'; text: string };
