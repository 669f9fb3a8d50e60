/** The operations of a payment in the order of their requests. */

import { ScrollArea, Table } from '@mantine/core';
import type { Operation, QrOperation } from '@switchyard/contract';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, Money } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';

type OperationRow = Pick<
  Operation,
  'operationId' | 'number' | 'kind' | 'amount' | 'currency' | 'createdAt'
> & { readonly status: (Operation | QrOperation)['status']; readonly note: string | undefined };

function noteOf(operation: Operation | QrOperation): string | undefined {
  if ('response' in operation && operation.response !== undefined) {
    const { reason, code } = operation.response;
    return [reason, code].filter((each) => each !== undefined).join(' · ');
  }
  return 'cause' in operation ? operation.cause : undefined;
}

export function OperationList({
  operations,
}: {
  readonly operations: readonly (Operation | QrOperation)[];
}) {
  const t = useTranslate('payments');
  const rows: OperationRow[] = operations.map((each) => ({ ...each, note: noteOf(each) }));
  return (
    <ScrollArea type="auto" viewportProps={{ tabIndex: 0, 'aria-label': t('operations.title') }}>
      <Table verticalSpacing={6} horizontalSpacing="md" miw="34rem">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('operations.kind')}</Table.Th>
            <Table.Th>{t('state')}</Table.Th>
            <Table.Th>{t('operations.note')}</Table.Th>
            <Table.Th>{t('created')}</Table.Th>
            <Table.Th ta="end">{t('amount')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(({ operationId, kind, status, note, amount, currency, createdAt }) => (
            <Table.Tr key={operationId}>
              <Table.Td>{t(`kinds.${kind}`)}</Table.Td>
              <Table.Td>
                <StateBadge state={status}>{t(`operationStates.${status}`)}</StateBadge>
              </Table.Td>
              <Table.Td className="sy-broken">{note ?? '–'}</Table.Td>
              <Table.Td>
                <DateTime at={createdAt} />
              </Table.Td>
              <Table.Td ta="end">
                <Money amount={amount} currency={currency} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  );
}
