/** Formats values for the user: money, times, names and identifiers. */
import { Tooltip } from '@mantine/core';
import { useFormats } from '../../session/use-session.ts';

export function Money({
  amount,
  currency,
}: {
  /** Minor units. */
  readonly amount: number | bigint;
  readonly currency: string;
}) {
  return <span className="sy-money">{useFormats().money(amount, currency)}</span>;
}

/** In the time zone of the user; the tooltip has the exact time and the zone. */
export function DateTime({
  at,
  exact = false,
}: {
  readonly at: string | undefined;
  readonly exact?: boolean;
}) {
  const formats = useFormats();
  if (at === undefined) return <span aria-hidden="true">–</span>;
  return (
    <time dateTime={at} title={`${formats.exactTime(at)} ${formats.zone}`}>
      {exact ? formats.exactTime(at) : formats.time(at)}
    </time>
  );
}

/** A name of unknown length on one line; the tooltip has the complete name. */
export function TruncatedName({ children }: { readonly children: string | undefined }) {
  if (children === undefined || children === '') return <span aria-hidden="true">–</span>;
  return (
    <span className="sy-cut" title={children}>
      <bdi>{children}</bdi>
    </span>
  );
}

/** A shortened identifier; the tooltip has the complete one. */
export function ShortId({ id }: { readonly id: string }) {
  return (
    <Tooltip label={id}>
      <span className="sy-mono">{id.length > 13 ? `${id.slice(0, 4)}…${id.slice(-8)}` : id}</span>
    </Tooltip>
  );
}
