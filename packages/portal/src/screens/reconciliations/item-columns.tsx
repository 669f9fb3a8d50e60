/** The columns of the transaction table of a reconciliation. */
import { Button } from '@mantine/core';
import type { ReconciliationItem } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { StateBadge, type Tone } from '../../components/values/state-badge.tsx';
import { Money, TruncatedName } from '../../components/values/values.tsx';
import type { Translate } from '../../locales/index.ts';
import { textColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';

const tones: Readonly<Record<ReconciliationItem['outcome'], Tone>> = {
  Matched: 'good',
  Different: 'warn',
  MissingHere: 'bad',
  MissingThere: 'bad',
};

type Side = { readonly amount: number; readonly currency: string } | undefined;

const money = (side: Side) =>
  side === undefined ? (
    <span aria-hidden="true">–</span>
  ) : (
    <Money amount={side.amount} currency={side.currency} />
  );

export function itemColumns(
  t: Translate,
  onDecide: ((item: ReconciliationItem) => void) | undefined,
): Column<ReconciliationItem>[] {
  return [
    {
      header: t('outcome'),
      width: '10.5rem',
      cardPosition: 'subtrail',
      cell: ({ outcome }) => (
        <StateBadge state={outcome} tone={tones[outcome]}>
          {t(`outcomes.${outcome}`)}
        </StateBadge>
      ),
    },
    {
      header: t('reference'),
      width: '9rem',
      cardPosition: 'lead',
      cell: ({ theirs, ours }) => {
        const reference = (theirs ?? ours)?.retrievalReferenceNumber;
        return ours === undefined ? (
          <TruncatedName>{reference}</TruncatedName>
        ) : (
          <Link className="sy-movement" to={`/payments/${ours.transactionId}`}>
            {reference}
          </Link>
        );
      },
    },
    {
      ...textColumn(t('terminal'), ({ theirs, ours }) => theirs?.terminalId ?? ours?.terminalId),
      width: '7rem',
    },
    {
      header: t('type'),
      width: '7rem',
      cardPosition: 'sub',
      cell: ({ theirs, ours }) => t(`types.${(theirs ?? ours)?.type ?? 'Capture'}`),
    },
    {
      header: t('sides.theirs'),
      width: '9rem',
      align: 'end',
      cardPosition: 'trail',
      cell: ({ theirs }) => money(theirs),
    },
    {
      header: t('sides.operations'),
      width: '9rem',
      align: 'end',
      cell: ({ ours }) => money(ours),
    },
    {
      header: t('differences'),
      cell: ({ differences }) => differences.map((each) => t(`members.${each}`)).join(', '),
    },
    {
      header: t('fields.resolution'),
      width: '10.5rem',
      cell: (item) => <Decision item={item} t={t} onDecide={onDecide} />,
    },
  ];
}

function Decision({
  item,
  t,
  onDecide,
}: {
  readonly item: ReconciliationItem;
  readonly t: Translate;
  readonly onDecide: ((item: ReconciliationItem) => void) | undefined;
}) {
  const { resolution, waysToResolve } = item;
  if (resolution !== undefined) {
    return (
      <span title={resolution.note} className="sy-cut">
        {t(`options.${resolution.resolution}`)}
      </span>
    );
  }
  if (waysToResolve.length === 0 || onDecide === undefined) return null;
  return (
    <Button size="compact-sm" variant="light" onClick={() => onDecide(item)}>
      {t('decide.do')}
    </Button>
  );
}
