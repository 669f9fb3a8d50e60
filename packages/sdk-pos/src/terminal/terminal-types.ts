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
import type { Clock } from '@switchyard/sdk-core';
import type { PosClient } from '../connector/pos-client.ts';
import type { PosTls } from '../network/http-post.ts';
import type { PosError } from '../support/pos-error.ts';
import type { Awaitable, ServiceStore, StoredService } from './service-store.ts';

/**
 * A category that a till can request and that a terminal answers.
 *
 * @example
 * const category: RequestCategory = 'Payment';
 */
export type RequestCategory = {
  [Name in Category]: 'Request' | 'Response' extends keyof (typeof categories)[Name]['bodies']
    ? Name
    : never;
}[Category];

/**
 * The body of a request.
 *
 * @example
 * const body: RequestBody<'Admin'> = { ServiceIdentification: 'reprint' };
 */
export type RequestBody<Name extends Category> = Body<Name, 'Request' & MessageTypeOf<Name>>;

/**
 * The body of an answer.
 *
 * @example
 * const body: ResponseBody<'Admin'> = { Response: { Result: 'Success' } };
 */
export type ResponseBody<Name extends Category> = Body<Name, 'Response' & MessageTypeOf<Name>>;

/**
 * The answer of the terminal. A refusal is also an answer: `result` is `Failure`, `condition` gives
 * the reason and `advice` the next step.
 *
 * @example
 * const { result, condition }: TerminalResponse<'Payment'> = await terminal.request('Payment', body);
 */
export type TerminalResponse<Name extends Category> = {
  readonly result: 'Success' | 'Partial' | 'Failure';
  readonly condition?: string | undefined;
  readonly advice?: ConditionFacts['advice'] | undefined;
  /** Identifies the service in the store and in a TransactionStatus. */
  readonly serviceId: string;
  readonly message: Message<Name, 'Response' & MessageTypeOf<Name>>;
};

/** Device messages that a terminal may send to a till. */
type DeviceCategory =
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
 * The devices of the till that the terminal can use: display, keys, printer. The till answers
 * `UnavailableDevice` for a category that has no function here.
 *
 * @example
 * const devices: PosDevices = { Print: async ({ PrintOutput }) => printed(PrintOutput) };
 */
export type PosDevices = {
  readonly [Name in DeviceCategory]?: (body: RequestBody<Name>) => Awaitable<ResponseBody<Name>>;
} & {
  /** Ends or changes a running input; there is no answer. */
  readonly InputUpdate?: (body: Body<'InputUpdate', 'Notification'>) => Awaitable<void>;
};

/**
 * A service and its outcome.
 *
 * @example
 * const { service, outcome, message }: RecoveredService = await terminal.recover(serviceId);
 */
export type RecoveredService = {
  readonly service: StoredService;
  /**
   * `Unknown`: the terminal could not report the outcome. The operator checks it, or calls
   * `recover` again.
   */
  readonly outcome: 'Answered' | 'NotProcessed' | 'Unknown';
  /**
   * The answer, which also can be a refusal. It is absent if the outcome was `Answered` before and
   * the terminal no longer repeats it.
   */
  readonly message?: AnyMessage;
  /**
   * With `Unknown`: the terminal does not know the service, but nothing proves that its memory is
   * intact. It may have been exchanged or reset.
   */
  readonly condition?: 'NotFound';
};

/**
 * How messages reach the terminal. `auto` uses the cloud, and the local network if the cloud cannot
 * reach the terminal.
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
 * Over the local network: HTTP requests (`https`) or a WebSocket (`wss`). Over a WebSocket the
 * terminal can also use the till's display and printer and send events.
 *
 * @example
 * const local: LocalTransport = { url: 'https://10.0.0.17:8443/nexo', tls: { ca } };
 */
export type LocalTransport = { readonly url: string; readonly tls?: PosTls | undefined };

/**
 * The settings of a terminal for a till.
 *
 * @example
 * const settings: TerminalSettings = { saleId: 'till-3', poiId: tsn, transport, store };
 */
export type TerminalSettings = {
  /** Identifies this till; each till has its own value. */
  readonly saleId: string;
  readonly poiId: string;
  readonly transport: TerminalTransport;
  readonly store: ServiceStore;
  /**
   * Message protection `adyen-v1`: the first key protects, and all keys can open. The till ignores
   * messages in clear text.
   */
  readonly keys?: readonly [SharedKey, ...SharedKey[]] | undefined;
  /**
   * `answerMs`: how long a service waits for its answer; default 150,000 through the cloud, 120,000
   * locally. Then status requests follow, each `statusEveryMs` (5000) for `statusForMs` (150,000).
   */
  readonly times?: Partial<SaleTimes> | undefined;
  readonly devices?: PosDevices | undefined;
  /**
   * Stores the outcome of a service with the till's own records. The SDK calls it for each service
   * that it sent or recovered, and marks the outcome as reported after it returns. If it throws, or
   * the process ends before, `open` or `recover` reports the outcome again: expect the same service
   * twice. The next service waits for it, so it must not wait for the terminal.
   */
  readonly onOutcome?: ((result: RecoveredService) => Awaitable<void>) | undefined;
  readonly onEvent?: ((event: Message<'Event', 'Notification'>) => void) | undefined;
  /** The late answer of a service that the till had given up; the till must undo its effect. */
  readonly onLateResponse?: ((message: AnyMessage) => void) | undefined;
  /**
   * For the log: ignored messages and faults outside of a service. They do not change an outcome.
   */
  readonly onError?: ((error: PosError) => void) | undefined;
  readonly clock?: Clock | undefined;
};
