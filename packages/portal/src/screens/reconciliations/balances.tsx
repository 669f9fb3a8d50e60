/** The balances of acquirer file, operations and settlements by currency. */
import { Table } from '@mantine/core';
import type { ReconciliationDetail } from '@switchyard/contract';
import { Panel } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { Money } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';

const sides = ['theirs', 'operations', 'ledger', 'fees'] as const;

export function Balances({ reconciliation }: { readonly reconciliation: ReconciliationDetail }) {
  const t = useTranslate('reconciliations');
  if (reconciliation.balances.length === 0) return null;
  const names = sides.map((side) => t(`sides.${side}`)).join(', ');
  return (
    <Panel title={t('balances')} flush>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: on a phone it is scrolled sideways, by keys too */}
      <section className="sy-balances" tabIndex={0} aria-label={names}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('currency')}</Table.Th>
              {sides.map((side) => (
                <Table.Th key={side}>{t(`sides.${side}`)}</Table.Th>
              ))}
              <Table.Th>{t('agree')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {reconciliation.balances.map((balance) => (
              <Table.Tr key={balance.currency}>
                <Table.Th scope="row">{balance.currency}</Table.Th>
                {sides.map((side) => (
                  <Table.Td key={side}>
                    <Money amount={BigInt(balance[side])} currency={balance.currency} />
                  </Table.Td>
                ))}
                <Table.Td>
                  <StateBadge state="" tone={balance.isBalanced ? 'good' : 'bad'}>
                    {t(balance.isBalanced ? 'yes' : 'no')}
                  </StateBadge>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </section>
    </Panel>
  );
}
