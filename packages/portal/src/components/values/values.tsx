/** Values as the user reads them: money, times, names of unknown length, identifiers. */
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

/** In the zone of the user; the exact time and the zone are in its title. */
export function Time({
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

/** A name that somebody else chose: one line, the whole of it on demand. */
export function Name({ children }: { readonly children: string | undefined }) {
  if (children === undefined || children === '') return <span aria-hidden="true">–</span>;
  return (
    <span className="sy-cut" title={children}>
      <bdi>{children}</bdi>
    </span>
  );
}

/** The first part of an identifier; the whole of it on demand. */
export function ShortId({ id }: { readonly id: string }) {
  return (
    <Tooltip label={id}>
      <span className="sy-mono">{id.length > 13 ? `${id.slice(0, 4)}…${id.slice(-8)}` : id}</span>
    </Tooltip>
  );
}
