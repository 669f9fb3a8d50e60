/** The page of a settlement: amounts and clearing files. */

import { Button, ScrollArea, Table } from '@mantine/core';
import type { SettlementDetail } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { KeyFigures } from '../../charts/key-figures.tsx';
import { DescriptionList, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { nameItem, timeItem } from '../../components/values/description-items.tsx';
import { useEntityName } from '../../components/values/entity-name.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { Money } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats } from '../../session/use-session.ts';

export default function SettlementPage() {
  const t = useTranslate('settlements');
  const formats = useFormats();
  const settlementId = usePathParam('settlementId');
  const query = useQuery({
    queryKey: ['settlement', settlementId],
    queryFn: () =>
      api.get<SettlementDetail>(`/reporting/v1/settlements/${encodeURIComponent(settlementId)}`),
  });
  const { data } = query;
  const merchant = useEntityName('merchants', data?.merchantId);
  const backLink = { to: '/settlements', label: t('title') };
  if (data === undefined) return <PendingPage query={query} title={t('one')} backLink={backLink} />;
  return (
    <Page title={`${formats.day(data.day)} · ${data.currency}`} lead={merchant} backLink={backLink}>
      <SettlementSums settlement={data} />
      <Panel title={t('facts')}>
        <DescriptionList
          items={[
            nameItem(t('merchant'), 'merchants', data.merchantId),
            nameItem(t('acquirer'), 'acquirer-links', data.acquirerLinkId),
            timeItem(t('updated'), data.updatedAt),
            [
              t('fees'),
              data.fees === null ? (
                t('feesUnknown')
              ) : (
                <Money key="fees" amount={BigInt(data.fees)} currency={data.currency} />
              ),
            ],
          ]}
        />
        <Button
          component={Link}
          to="/payments"
          search={
            {
              from: data.day,
              to: data.day,
              merchantId: data.merchantId,
              currency: data.currency,
            } as never
          }
          variant="default"
          mt="md"
        >
          {t('payments')}
        </Button>
      </Panel>
      {data.files.length > 0 && (
        <Panel title={t('files')} flush>
          <Files settlement={data} />
        </Panel>
      )}
    </Page>
  );
}

function SettlementSums({ settlement }: { readonly settlement: SettlementDetail }) {
  const t = useTranslate('settlements');
  const { currency, net, captures, refunds, reversals, pending } = settlement;
  const moved = { captures, refunds, reversals, pending };
  return (
    <KeyFigures
      items={[
        { label: t('net'), value: <Money amount={BigInt(net)} currency={currency} /> },
        ...Object.entries(moved).map(([name, { amount, count }]) => ({
          label: t(name),
          value: <Money amount={BigInt(amount)} currency={currency} />,
          note: t('count', { count }),
        })),
      ]}
    />
  );
}

function Files({ settlement: { files, currency } }: { readonly settlement: SettlementDetail }) {
  const t = useTranslate('settlements');
  return (
    <ScrollArea type="auto" viewportProps={{ tabIndex: 0, 'aria-label': t('files') }}>
      <Table miw="34rem" verticalSpacing={6} horizontalSpacing="md">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('file')}</Table.Th>
            <Table.Th>{t('state')}</Table.Th>
            <Table.Th ta="end">{t('lines')}</Table.Th>
            <Table.Th ta="end">{t('amount')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {files.map(({ clearingFileId, fileName, state, lines, amount }) => (
            <Table.Tr key={clearingFileId}>
              <Table.Td className="sy-broken">{fileName}</Table.Td>
              <Table.Td>
                <StateBadge state={state}>{t(`fileStates.${state}`)}</StateBadge>
              </Table.Td>
              <Table.Td ta="end">{lines}</Table.Td>
              <Table.Td ta="end">
                <Money amount={BigInt(amount)} currency={currency} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  );
}
