/** Types of the services of a terminal. */
import type {
  AnyMessage,
  Body,
  Category,
  ConditionFacts,
  categories,
  Message,
  MessageTypeOf,
  SaleTimes,
  SharedKey,
} from '@switchyard/nexo';
import type { Clock } from './clock.ts';
import type { PosError } from './errors.ts';
import type { PosTls } from './http.ts';
import type { PosClient } from './pos-client.ts';
import type { Awaitable, KeptService, ServiceStore } from './service-store.ts';

/**
 * A category that a till asks for and that is answered.
 *
 * @example
 * const category: Asked = 'Payment';
 */
export type Asked = {
  [Of in Category]: 'Request' | 'Response' extends keyof (typeof categories)[Of]['bodies']
    ? Of
    : never;
}[Category];

/**
 * The body of a request.
 *
 * @example
 * const body: RequestBody<'Admin'> = { ServiceIdentification: 'reprint' };
 */
export type RequestBody<Of extends Category> = Body<Of, 'Request' & MessageTypeOf<Of>>;

/**
 * The body of an answer.
 *
 * @example
 * const body: ResponseBody<'Admin'> = { Response: { Result: 'Success' } };
 */
export type ResponseBody<Of extends Category> = Body<Of, 'Response' & MessageTypeOf<Of>>;

/**
 * What the terminal answered. A refusal is an answer too: `result` is `Failure`, `condition` says why,
 * and `advice` what to do.
 *
 * @example
 * const { result, condition }: Answer<'Payment'> = await terminal.request('Payment', body);
 */
export type Answer<Of extends Category> = {
  readonly result: 'Success' | 'Partial' | 'Failure';
  readonly condition?: string | undefined;
  readonly advice?: ConditionFacts['advice'] | undefined;
  /** Names the service in the store, and to a TransactionStatus. */
  readonly serviceId: string;
  readonly message: Message<Of, 'Response' & MessageTypeOf<Of>>;
};

/** Device messages that a terminal may ask a till to serve. */
type Served =
  | 'Display'
  | 'Input'
  | 'Print'
  | 'Sound'
  | 'Transmit'
  | 'PIN'
  | 'CardReaderInit'
  | 'CardReaderAPDU'
  | 'CardReaderPowerOff';

/**
 * What the till does for the terminal: its screen, its keys, its printer. What has no function here is
 * answered `UnavailableDevice`.
 *
 * @example
 * const devices: TillDevices = { Print: async ({ PrintOutput }) => printed(PrintOutput) };
 */
export type TillDevices = {
  readonly [Of in Served]?: (body: RequestBody<Of>) => Awaitable<ResponseBody<Of>>;
} & {
  /** Ends or changes an input that runs; nothing is answered. */
  readonly InputUpdate?: (body: Body<'InputUpdate', 'Notification'>) => Awaitable<void>;
};

/**
 * A service from before a restart, and how it ended.
 *
 * @example
 * for (const { kept, outcome, message } of await terminal.open()) settle(kept.serviceId, outcome, message);
 */
export type Recovered = {
  readonly kept: KeptService;
  /** `Unknown`: nobody could tell. Somebody has to look, or `recover` is called once more. */
  readonly outcome: 'Answered' | 'NotProcessed' | 'Unknown';
  /** The answer, where the terminal repeated it. */
  readonly message?: AnyMessage;
};

/**
 * How messages reach the terminal: `auto` takes the cloud, and the local network where the cloud does
 * not reach the terminal.
 *
 * @example
 * const transport: TerminalTransport = { kind: 'cloud', client, tsn: 'AXIUM_DX8000-10000001', waitSeconds: 10 };
 */
export type TerminalTransport =
  | ({ readonly kind: 'cloud' } & CloudTransport)
  | ({ readonly kind: 'local' } & LocalTransport)
  | { readonly kind: 'auto'; readonly cloud: CloudTransport; readonly local: LocalTransport };

/**
 * Through the Cloud Connector.
 *
 * @example
 * const cloud: CloudTransport = { client, tsn: 'AXIUM_DX8000-10000001', takeOver: true };
 */
export type CloudTransport = {
  readonly client: PosClient;
  readonly tsn: string;
  readonly waitSeconds?: number | undefined;
  readonly takeOver?: boolean | undefined;
};

/**
 * Over the local network: by requests (`https`), or by a WebSocket (`wss`), over which the terminal can
 * use screen and printer of the till and tell its events.
 *
 * @example
 * const local: LocalTransport = { url: 'https://10.0.0.17:8443/nexo', tls: { ca } };
 */
export type LocalTransport = { readonly url: string; readonly tls?: PosTls | undefined };

/**
 * What a till needs to use a terminal.
 *
 * @example
 * const settings: TerminalSettings = { saleId: 'till-3', poiId: tsn, transport, store };
 */
export type TerminalSettings = {
  /** Of this till: two tills never share one. */
  readonly saleId: string;
  readonly poiId: string;
  readonly transport: TerminalTransport;
  readonly store: ServiceStore;
  /** Message protection `adyen-v1`: the first key protects, all open; what is in clear is not heard. */
  readonly keys?: readonly [SharedKey, ...SharedKey[]] | undefined;
  /** Default: 150 s for an answer through the cloud, 120 s locally; 5 s between questions, for 150 s. */
  readonly times?: Partial<SaleTimes> | undefined;
  readonly devices?: TillDevices | undefined;
  readonly onEvent?: ((event: Message<'Event', 'Notification'>) => void) | undefined;
  /** The answer of a service that had been given up: whatever it did must be undone. */
  readonly onLate?: ((message: AnyMessage) => void) | undefined;
  /** For the log: what was ignored, or went wrong beside a service. Nothing of it is an outcome. */
  readonly onFault?: ((error: PosError) => void) | undefined;
  readonly clock?: Clock | undefined;
};
