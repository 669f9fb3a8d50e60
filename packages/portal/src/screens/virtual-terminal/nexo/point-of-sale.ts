/**
 * The point of sale of the page. It sends one service at a time through the Retail API and queries
 * a lost outcome.
 */
import { defined } from '@switchyard/contract';
import {
  type AnyMessage,
  type Body,
  type Category,
  createSaleDialogue,
  createServiceIds,
  type Header,
  readAdditionalResponse,
  readMessage,
  requestOf,
  resultOf,
  type SaleJournal,
  type SaleStep,
  type SaleTimes,
  toAmount,
  writeMessage,
} from '@switchyard/nexo';
import { nowMs } from '../../../session/clock.ts';
import { newUuid, randomBelow } from '../../../session/random-values.ts';

export type MoneyAmount = { readonly amount: number; readonly currency: string };

/**
 * `Unknown`: the terminal may have received the message. `NotSent`: the terminal did not receive
 * it. `Taken`: the message has no response, such as an abort.
 */
export type DeliveryResult =
  | { readonly kind: 'Answered'; readonly text: string }
  | { readonly kind: 'Taken' }
  | { readonly kind: 'NotSent' | 'Unknown'; readonly fault: unknown };

/** A request with its response. */
export type MessageExchange = {
  readonly number: number;
  readonly category: Header['MessageCategory'];
  readonly request: string;
  readonly status: 'Waiting' | DeliveryResult['kind'];
  readonly response?: string;
  readonly fault?: unknown;
  /** The result code of the response. */
  readonly result?: string | undefined;
  readonly condition?: string | undefined;
  readonly tookMs?: number;
};

type MoneyService = 'Payment' | 'Reversal';

/** The outcome of the last payment or reversal. */
export type ServiceOutcome = {
  readonly service: MoneyService;
  readonly sum?: MoneyAmount | undefined;
  readonly result: 'Success' | 'Partial' | 'Failure' | 'NotProcessed' | 'Unknown';
  readonly condition?: string | undefined;
  readonly additional?: string | undefined;
  /** The terminal's identifier of the payment, for a reversal. */
  readonly transactionId?: string | undefined;
  readonly timeStamp?: string | undefined;
  /** The lines of the customer receipt. */
  readonly receipt: readonly string[];
};

export type PointOfSaleView = {
  /** The newest first. */
  readonly exchanges: readonly MessageExchange[];
  /** `isAsking`: the response was lost, and the point of sale queries the outcome. */
  readonly running?: { readonly service: MoneyService; readonly isAsking: boolean } | undefined;
  readonly ended?: ServiceOutcome | undefined;
};

/** The state that survives a reload. */
type StoredState = {
  readonly lastServiceId?: string;
  readonly journal?: (SaleJournal & { readonly sum?: MoneyAmount | undefined }) | undefined;
  readonly lastAnswered?: Header;
};

export type PointOfSaleOptions = {
  readonly tsn: string;
  readonly saleId: string;
  readonly send: (text: string) => Promise<DeliveryResult>;
  readonly storage: Pick<Storage, 'getItem' | 'setItem'>;
  readonly onChange: (view: PointOfSaleView) => void;
  readonly onFault: (fault: unknown) => void;
  /** For tests. */
  readonly times?: Partial<SaleTimes>;
};

export type PointOfSale = ReturnType<typeof createPointOfSale>;

/** The length of an order identifier. */
const orderLength = 13;
const maxExchanges = 30;

const isMoneyService = (category: Category): category is MoneyService =>
  category === 'Payment' || category === 'Reversal';

function parseStoredState(text: string | null): StoredState {
  try {
    return JSON.parse(text ?? '{}') as StoredState;
  } catch {
    // The stored text is not valid JSON, so it is ignored.
    return {};
  }
}

type Bodies = Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>;
type Response = NonNullable<ReturnType<typeof resultOf>>;

function receiptIn({ body }: AnyMessage): readonly string[] {
  const receipts = (body as Partial<Body<'Payment', 'Response'>>).PaymentReceipt ?? [];
  const copy = receipts.find((each) => each.DocumentQualifier === 'CustomerReceipt');
  return (copy?.OutputContent.OutputText ?? []).map(({ Text = '' }) => Text);
}

const refusalOf = ({ Result, ErrorCondition, AdditionalResponse: text }: Response) => ({
  result: Result,
  condition: ErrorCondition,
  additional: text === undefined ? undefined : readAdditionalResponse(text).message,
});

/** Reads the outcome from a response. */
function outcomeOf(
  service: MoneyService,
  sum: MoneyAmount | undefined,
  message: AnyMessage,
): ServiceOutcome {
  const { POIData, OriginalPOITransaction } = message.body as Bodies;
  // A reversal has its own identifier; the payment on the platform is its original.
  const poi = (OriginalPOITransaction ?? POIData)?.['POITransactionID'];
  const { TransactionID, TimeStamp } = (poi ?? {}) as Readonly<Record<string, string>>;
  return {
    service,
    sum,
    ...refusalOf(resultOf(message) ?? { Result: 'Failure' }),
    transactionId: TransactionID,
    timeStamp: TimeStamp,
    receipt: receiptIn(message),
  };
}

/** @example const till = createPointOfSale(options); till.pay({ amount: 1250, currency: 'EUR' }); */
export function createPointOfSale(options: PointOfSaleOptions) {
  const { tsn, saleId, storage, onChange, onFault } = options;
  const storageName = `switchyard-till ${tsn}`;
  let stored = parseStoredState(storage.getItem(storageName));
  const { journal, lastAnswered, lastServiceId: last } = stored;
  const nextServiceId = createServiceIds({ now: nowMs, randomBelow, ...defined({ last }) });
  let view: PointOfSaleView = { exchanges: [] };
  let sum: MoneyAmount | undefined = journal?.sum;
  let count = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;
  const sale = createSaleDialogue({
    saleId,
    poiId: tsn,
    now: nowMs,
    nextServiceId: storedServiceId,
    ...defined({
      times: options.times,
      lastAnswered,
      journal: journal && { header: journal.header, at: journal.at },
    }),
  });

  function save(change: StoredState): void {
    stored = { ...stored, ...change };
    storage.setItem(storageName, JSON.stringify(stored));
  }

  function storedServiceId(): string {
    const lastServiceId = nextServiceId();
    save({ lastServiceId });
    return lastServiceId;
  }

  function show(change: Partial<PointOfSaleView>): void {
    view = { ...view, ...change };
    onChange(view);
  }

  /** Sends a message and records the exchange. */
  async function exchange(message: AnyMessage): Promise<DeliveryResult> {
    count += 1;
    const number = count;
    const begun = nowMs();
    const request = writeMessage(message);
    const category = message.header.MessageCategory;
    const sent: MessageExchange = { number, category, request, status: 'Waiting' };
    show({ exchanges: [sent, ...view.exchanges].slice(0, maxExchanges) });
    const delivery = await options.send(request);
    const reading = delivery.kind === 'Answered' ? readMessage(delivery.text) : undefined;
    const response = reading?.kind === 'Message' ? resultOf(reading.message) : undefined;
    const ended: MessageExchange = {
      ...sent,
      status: delivery.kind,
      tookMs: nowMs() - begun,
      ...defined({
        response: delivery.kind === 'Answered' ? delivery.text : undefined,
        fault: 'fault' in delivery ? delivery.fault : undefined,
        result: response?.Result,
        condition: response?.ErrorCondition,
      }),
    };
    show({ exchanges: view.exchanges.map((each) => (each.number === number ? ended : each)) });
    return delivery;
  }

  function finish(step: Extract<SaleStep, { do: 'Finish' }>): void {
    const service = step.request.MessageCategory;
    const lastAnswered = step.outcome === 'Answered' ? step.request : stored.lastAnswered;
    save({ journal: undefined, ...defined({ lastAnswered }) });
    if (!isMoneyService(service)) return;
    const noReceipt = { service, sum, receipt: [] };
    let ended: ServiceOutcome;
    if (step.outcome === 'Answered') ended = outcomeOf(service, sum, step.message);
    else if (step.outcome === 'Faulty') ended = { ...noReceipt, ...refusalOf(step.response) };
    else ended = { ...noReceipt, result: step.outcome };
    show({ running: undefined, ended });
  }

  /** Continues after a missing response. */
  function withoutResponse({ header }: AnyMessage, kind: DeliveryResult['kind']): SaleStep {
    if (!isMoneyService(header.MessageCategory) || kind === 'Taken') return { do: 'Wait' };
    if (kind === 'NotSent') return sale.notSent();
    show({ running: { service: header.MessageCategory, isAsking: true } });
    return sale.lost();
  }

  async function send(message: AnyMessage): Promise<void> {
    const journaled = sale.journal();
    save({ journal: journaled && { ...journaled, sum } });
    const delivery = await exchange(message);
    if (isStopped) return;
    const reading = delivery.kind === 'Answered' ? readMessage(delivery.text) : undefined;
    if (reading === undefined || reading.kind === 'Protected') {
      await act(withoutResponse(message, reading === undefined ? delivery.kind : 'Unknown'));
      return;
    }
    const step = sale.receive(reading);
    // An unreadable response ends nothing; the outcome is queried.
    const isLost = step.do === 'Ignore' && isMoneyService(message.header.MessageCategory);
    await act(isLost && sale.journal() !== undefined ? sale.lost() : step);
  }

  async function act(step: SaleStep): Promise<void> {
    if (step.do === 'Send') await send(step.message);
    else if (step.do === 'Finish') finish(step);
    if (!isStopped) schedule();
  }

  const tick = () => void act(sale.tick()).catch(onFault);

  function schedule(): void {
    clearTimeout(timer);
    const due = sale.due();
    if (due !== undefined) timer = setTimeout(tick, Math.max(0, due - nowMs()));
  }

  function begin(service: MoneyService, step: SaleStep): void {
    if (step.do !== 'Send') return;
    show({ running: { service, isAsking: false }, ended: undefined });
    act(step).catch(onFault);
  }

  /** Runs beside the current service; only the message log shows the response. */
  function sendInquiry<Of extends 'Diagnosis' | 'TransactionStatus'>(
    category: Of,
    body: Body<Of, 'Request'>,
  ): void {
    const address = { saleId, poiId: tsn, serviceId: storedServiceId() };
    exchange(requestOf(category, address, body as never) as AnyMessage).catch(onFault);
  }

  const at = () => new Date(nowMs()).toISOString();

  return {
    /** Continues a service that an earlier page left open. */
    start(): void {
      const service = journal?.header.MessageCategory;
      if (service !== undefined && isMoneyService(service)) {
        show({ running: { service, isAsking: true } });
      }
      tick();
    },

    pay({ amount, currency }: MoneyAmount): void {
      if (sale.journal() !== undefined) return;
      sum = { amount, currency };
      const order = newUuid().slice(0, orderLength);
      const body: Body<'Payment', 'Request'> = {
        SaleData: { SaleTransactionID: { TransactionID: order, TimeStamp: at() } },
        PaymentTransaction: {
          AmountsReq: { Currency: currency, RequestedAmount: toAmount(amount, currency) },
        },
      };
      begin('Payment', sale.begin('Payment', body));
    },

    /** Reverses the complete payment by its terminal identifier. */
    reverse({ transactionId, timeStamp, sum: paid }: ServiceOutcome): void {
      if (sale.journal() !== undefined || transactionId === undefined) return;
      sum = paid;
      const original = { TransactionID: transactionId, TimeStamp: timeStamp ?? at() };
      const body: Body<'Reversal', 'Request'> = {
        OriginalPOITransaction: { SaleID: saleId, POIID: tsn, POITransactionID: original },
        ReversalReason: 'MerchantCancel',
      };
      begin('Reversal', sale.begin('Reversal', body));
    },

    abort(): void {
      const step = sale.abort('MerchantAbort');
      if (step.do === 'Send') exchange(step.message).catch(onFault);
    },

    /** Queries the running service, otherwise the last one. */
    askStatus(): void {
      const { MessageCategory, ServiceID, SaleID, POIID } = sale.journal()?.header ?? {};
      sendInquiry(
        'TransactionStatus',
        ServiceID === undefined
          ? {}
          : { MessageReference: { MessageCategory, ServiceID, SaleID, POIID } as never },
      );
    },

    diagnose: () => sendInquiry('Diagnosis', { HostDiagnosisFlag: true }),

    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
