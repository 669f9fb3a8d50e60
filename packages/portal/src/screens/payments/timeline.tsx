/** The events of a payment, latest first. */
import type { QrEvent, TransactionEvent } from '@switchyard/contract';
import { DateTime, Money } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';

type TimelineEntry = {
  readonly sequence: number;
  readonly type: string;
  readonly at: string;
  readonly amount: number | undefined;
  readonly note: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
};

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function responseOf(data: Readonly<Record<string, unknown>>): string | undefined {
  const { response } = data;
  if (typeof response !== 'object' || response === null) return undefined;
  const { reason, code } = response as Record<string, unknown>;
  return [textOf(reason), textOf(code)].filter((each) => each !== undefined).join(' · ');
}

function timelineEntry(event: TransactionEvent | QrEvent): TimelineEntry {
  const { sequence, type, at } = event;
  let data: Record<string, unknown>;
  if ('data' in event) data = event.data;
  else {
    const { sequence: _sequence, type: _type, at: _at, display: _display, ...rest } = event;
    data = rest;
  }
  const amount = typeof data['amount'] === 'number' ? data['amount'] : undefined;
  const note = responseOf(data) ?? textOf(data['reason']) ?? textOf(data['actor']);
  return { sequence, type, at, amount, note, data };
}

function toneOf(type: string): string {
  if (/declined|failed|held/.test(type)) return 'bad';
  if (/captured|completed|refunded|confirmed|reversed$|cancelled/.test(type)) return 'good';
  return 'plain';
}

export function Timeline({
  events,
  currency,
}: {
  readonly events: readonly (TransactionEvent | QrEvent)[];
  readonly currency: string;
}) {
  const t = useTranslate('payments');
  const entries = events.map(timelineEntry).sort((a, b) => b.sequence - a.sequence);
  return (
    <ol className="sy-timeline">
      {entries.map(({ sequence, type, at, amount, note, data }) => (
        <li key={sequence} data-tone={toneOf(type)}>
          <div className="sy-timeline-head">
            <strong>{t(`events.${type.replaceAll('.', '_')}`)}</strong>
            {amount !== undefined && <Money amount={amount} currency={currency} />}
          </div>
          <div className="sy-timeline-line">
            <DateTime at={at} exact />
            {note !== undefined && <span className="sy-broken">{note}</span>}
          </div>
          {Object.keys(data).length > 0 && (
            <details>
              <summary>{t('timeline.details')}</summary>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys */}
              <pre tabIndex={0}>{JSON.stringify({ type, ...data }, null, 2)}</pre>
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}
