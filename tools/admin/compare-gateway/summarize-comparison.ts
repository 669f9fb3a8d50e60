// Adds up the compared messages of a trace, with one example for each field and each reason.
import { defined } from '@switchyard/contract';
import type { FieldComparison } from './compare-fields.ts';
import type { ComparedMessage, ComparisonResult } from './compare-messages.ts';

type FieldExample = Pick<ComparedMessage, 'position' | 'operation'> &
  Pick<FieldComparison, 'recorded' | 'platform' | 'detail'>;

export type FieldSummary = Pick<FieldComparison, 'field' | 'name'> & {
  equal: number;
  different: number;
  missing: number;
  additional: number;
  /** The first message with a difference. */
  example?: FieldExample;
};

export type ReasonSummary = {
  readonly result: ComparisonResult;
  readonly reason: string;
  count: number;
  /** Of the first message. */
  readonly position: string;
};

export type OperationSummary = {
  readonly operation: string;
  requests: number;
  different: number;
  approved: number;
  declined: number;
  refused: number;
};

export type ComparisonSummary = {
  readonly results: Readonly<Record<ComparisonResult, number>>;
  readonly operations: readonly OperationSummary[];
  readonly fields: readonly FieldSummary[];
  readonly reasons: readonly ReasonSummary[];
  /** Responses that arrived after the standard timeout of the platform: the platform would have reversed. */
  readonly lateResponses: number;
  /** Messages that were compared, checked, or could not be read. */
  readonly checked: number;
  readonly differing: number;
};

/** The standard value of SWITCHYARD_ACQUIRER_TIMEOUT_MS. */
export const standardTimeoutMs = 10_000;
/** More reasons are added up under one. */
const maxReasons = 200;
const otherReasons = 'other reasons';

const differingResults: readonly ComparisonResult[] = [
  'Different',
  'NotSent',
  'Unreadable',
  'Refused',
  'Unmatched',
];

const counterByStatus = {
  Equal: 'equal',
  Different: 'different',
  Missing: 'missing',
  Additional: 'additional',
} as const;

export function createSummary() {
  const results: Record<ComparisonResult, number> = {
    Equal: 0,
    Different: 0,
    NotSent: 0,
    NotCompared: 0,
    Unreadable: 0,
    Approved: 0,
    Declined: 0,
    Refused: 0,
    Unmatched: 0,
  };
  const operations = new Map<string, OperationSummary>();
  const fields = new Map<number, FieldSummary>();
  const reasons = new Map<string, ReasonSummary>();
  let lateResponses = 0;

  function addField({ position, operation }: ComparedMessage, comparison: FieldComparison): void {
    const { field, name, status, recorded, platform, detail } = comparison;
    const summary = fields.get(field) ?? {
      field,
      name,
      equal: 0,
      different: 0,
      missing: 0,
      additional: 0,
    };
    fields.set(field, summary);
    summary[counterByStatus[status]] += 1;
    if (status !== 'Equal')
      summary.example ??= { position, ...defined({ operation, recorded, platform, detail }) };
  }

  function addReason({ result, reason, position }: ComparedMessage): void {
    if (reason === undefined) return;
    const isNew = !reasons.has(`${result} ${reason}`);
    const text = isNew && reasons.size >= maxReasons ? otherReasons : reason;
    const key = `${result} ${text}`;
    const summary = reasons.get(key) ?? { result, reason: text, count: 0, position };
    reasons.set(key, summary);
    summary.count += 1;
  }

  function addOperation({ operation, result, direction }: ComparedMessage): void {
    if (operation === undefined) return;
    const summary = operations.get(operation) ?? {
      operation,
      requests: 0,
      different: 0,
      approved: 0,
      declined: 0,
      refused: 0,
    };
    operations.set(operation, summary);
    if (direction === 'ToHost') summary.requests += 1;
    if (result === 'Different' || result === 'NotSent') summary.different += 1;
    if (result === 'Approved') summary.approved += 1;
    if (result === 'Declined') summary.declined += 1;
    if (result === 'Refused') summary.refused += 1;
  }

  return {
    add(message: ComparedMessage): void {
      results[message.result] += 1;
      for (const comparison of message.fields ?? []) addField(message, comparison);
      addReason(message);
      addOperation(message);
      if ((message.responseMs ?? 0) > standardTimeoutMs) lateResponses += 1;
    },
    read(): ComparisonSummary {
      const total = Object.values(results).reduce((sum, count) => sum + count, 0);
      return {
        results,
        operations: [...operations.values()],
        fields: [...fields.values()].sort((a, b) => a.field - b.field),
        reasons: [...reasons.values()].sort((a, b) => b.count - a.count),
        lateResponses,
        checked: total - results.NotCompared,
        differing: differingResults.reduce((sum, result) => sum + results[result], 0),
      };
    },
  };
}
