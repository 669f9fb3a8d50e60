/** The service records of a terminal: received services and their answers. */
import { defined } from '../defined.ts';
import { serviceIdRetentionMs, storedAnswersMax, storedServicesMax } from '../limits.ts';
import type { AnyMessage, Header } from '../messages/message.ts';
import type { Category } from '../table/value-sets.ts';

/**
 * One service that a terminal received.
 *
 * Source: ADR 0049.
 *
 * @example
 * const { serviceId, answer }: ServiceRecord = record;
 */
export type ServiceRecord = {
  readonly saleId: string;
  readonly serviceId: string;
  readonly category: Category;
  /** Time of the request, epoch milliseconds. */
  readonly at: number;
  /** The answer while it is stored; absent while the outcome is open. */
  readonly answer?: AnyMessage;
  /** It was answered without having been begun, as with `Busy`. */
  readonly refused?: true;
  /** It was answered, and the answer is no longer kept. */
  readonly dropped?: true;
};

/**
 * Everything that a terminal has to keep over a restart: plain data.
 *
 * Source: ADR 0049.
 *
 * @example
 * writeFileSync(file, JSON.stringify(poi.memory()));
 */
export type PoiMemory = {
  /** Oldest first. */
  readonly services: readonly ServiceRecord[];
  /** The sale systems that are logged in. */
  readonly loggedIn: readonly string[];
};

/** The services by sale system and identification, oldest first. */
export type Services = {
  /** Writes one down; false where it was there before. */
  readonly add: (header: Header, at: number) => boolean;
  readonly answered: (answer: AnyMessage, refused?: 'refused') => void;
  readonly find: (saleId: string, serviceId: string) => ServiceRecord | undefined;
  /** The last one of a sale system that can be repeated. */
  readonly last: (
    saleId: string,
    matches: (record: ServiceRecord) => boolean,
  ) => ServiceRecord | undefined;
  readonly all: () => readonly ServiceRecord[];
};

const keyOf = (saleId: string, serviceId: string): string => `${saleId}\n${serviceId}`;

/** Makes the memory of services, from what was kept. */
export function createServices(storedRecords: readonly ServiceRecord[]): Services {
  const records = new Map(storedRecords.map((each) => [keyOf(each.saleId, each.serviceId), each]));

  function forget(now: number): void {
    for (const [key, { at }] of records) {
      if (at + serviceIdRetentionMs > now && records.size < storedServicesMax) return;
      records.delete(key);
    }
  }

  function add({ SaleID, ServiceID = '', MessageCategory }: Header, at: number): boolean {
    forget(at);
    const key = keyOf(SaleID, ServiceID);
    if (records.has(key)) return false;
    records.set(key, { saleId: SaleID, serviceId: ServiceID, category: MessageCategory, at });
    return true;
  }

  /** Of the oldest answers only that they were given is kept. */
  function dropAnswers(): void {
    const answered = [...records].filter(([, { answer }]) => answer !== undefined);
    for (const [key, { answer: _, ...rest }] of answered.slice(0, -storedAnswersMax)) {
      records.set(key, { ...rest, dropped: true });
    }
  }

  function answered(answer: AnyMessage, refused?: 'refused'): void {
    const { SaleID, ServiceID = '' } = answer.header;
    const key = keyOf(SaleID, ServiceID);
    const record = records.get(key);
    if (record === undefined) return;
    records.set(key, {
      ...record,
      answer,
      ...defined({ refused: refused === undefined ? undefined : (true as const) }),
    });
    dropAnswers();
  }

  return {
    add,
    answered,
    find: (saleId, serviceId) => records.get(keyOf(saleId, serviceId)),
    last: (saleId, matches) =>
      [...records.values()].findLast((each) => each.saleId === saleId && matches(each)),
    all: () => [...records.values()],
  };
}
