/** The list of payments, cards and QR codes, newest first. */
import { Button, Menu } from '@mantine/core';
import type { Export, ReportedPayment } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ProblemError } from '../../api/api-errors.ts';
import { api, type Query } from '../../api/client.ts';
import { downloadExport } from '../../api/download-file.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { Page } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { withDayRange } from '../../filters/day-range-query.ts';
import type { FilterField } from '../../filters/filter-bar.tsx';
import { nameOptions, plainOptions, translatedOptions } from '../../filters/filter-options.ts';
import { useFilters } from '../../filters/use-filters.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import type { Formats } from '../../session/locale-formats.ts';
import { useFormats, useHasPermission, useSession } from '../../session/use-session.ts';
import { moneyColumn, nameColumn, textColumn, timeColumn } from '../../table/columns.tsx';
import type { Column } from '../../table/data-table.tsx';
import { ResourceList } from '../../table/resource-list.tsx';
import { PaymentMethod } from './payment-method.tsx';

const filterNames = [
  'text',
  'from',
  'to',
  'state',
  'kind',
  'scheme',
  'currency',
  'merchantId',
  'storeId',
  'deviceId',
  'responseCategory',
  'amountMin',
  'amountMax',
] as const;

type PaymentFilters = Readonly<Partial<Record<string, string>>>;

const referenceMost = 64;

/** A reference contains no spaces, so copied spaces are removed. */
function reference(text: string | undefined): string | undefined {
  const withoutBlanks = text?.replaceAll(/\s/g, '').slice(0, referenceMost);
  return withoutBlanks === undefined || withoutBlanks === '' ? undefined : withoutBlanks;
}

/** The filters as parameters of the search request. */
function paymentSearchQuery({ text, ...rest }: PaymentFilters, formats: Formats): Query {
  return { ...withDayRange(rest, formats), text: reference(text) };
}

const states = [
  'Authorized',
  'Captured',
  'PartiallyCaptured',
  'PartiallyRefunded',
  'Refunded',
  'Cancelled',
  'Declined',
  'Failed',
  'Reversing',
  'Reversed',
  'Expired',
  'Received',
  'Stored',
  'Created',
  'Pending',
  'Scanned',
  'Completed',
];
const schemes = ['Visa', 'Mastercard', 'Amex', 'Discover', 'Jcb', 'UnionPay', 'Maestro'];
const currencies = ['EUR', 'USD', 'GBP', 'CHF', 'JPY', 'INR', 'KWD'];

function columnsOf(t: Translate, hasMerchants: boolean): Column<ReportedPayment>[] {
  const merchant = nameColumn<ReportedPayment>(
    t('merchant'),
    'merchants',
    ({ merchantId }) => merchantId,
  );
  return [
    timeColumn(t('created'), ({ createdAt }) => createdAt, 'sub'),
    moneyColumn(t('amount'), '9rem', (payment) => payment, 'trail'),
    {
      header: t('state'),
      width: '11rem',
      cardPosition: 'subtrail',
      cell: ({ state }) => <StateBadge state={state}>{t(`states.${state}`)}</StateBadge>,
    },
    {
      header: t('paidWith'),
      width: '12rem',
      cardPosition: 'lead',
      cell: (payment) => <PaymentMethod payment={payment} />,
    },
    textColumn(t('reference'), ({ clientTransactionId }) => clientTransactionId),
    ...(hasMerchants ? [merchant] : []),
    nameColumn(t('store'), 'stores', ({ storeId }) => storeId),
  ];
}

function useFilterFields(t: Translate, hasMerchants: boolean): FilterField<string>[] {
  const merchants = useEntityNames('merchants', hasMerchants).data;
  const stores = useEntityNames('stores').data;
  const merchant = {
    kind: 'choice',
    name: 'merchantId',
    label: t('merchant'),
    options: nameOptions(merchants),
  } as const;
  return [
    { kind: 'search', name: 'text', label: t('search') },
    { kind: 'period', from: 'from', to: 'to', label: t('period') },
    {
      kind: 'choices',
      name: 'state',
      label: t('state'),
      options: translatedOptions(t, 'states', states),
    },
    { kind: 'choices', name: 'scheme', label: t('scheme'), options: plainOptions(schemes) },
    { kind: 'choices', name: 'currency', label: t('currency'), options: plainOptions(currencies) },
    ...(hasMerchants ? [merchant] : []),
    { kind: 'choice', name: 'storeId', label: t('store'), options: nameOptions(stores) },
  ];
}

export default function Payments() {
  const t = useTranslate('payments');
  const formats = useFormats();
  const hasMerchants = useSession().merchantId === undefined;
  const [values] = useFilters(filterNames);
  return (
    <Page
      title={t('title')}
      actions={<ExportButton filters={paymentSearchQuery(values, formats)} />}
      fill
    >
      <ResourceList
        label={t('title')}
        name="payments"
        path="/reporting/v1/transactions"
        filters={useFilterFields(t, hasMerchants)}
        linkFilters={filterNames}
        queryFor={(chosen) => paymentSearchQuery(chosen, formats)}
        views="payments"
        columns={columnsOf(t, hasMerchants)}
        rowKey={({ transactionId }) => transactionId}
        rowTo={({ transactionId }) => `/payments/${transactionId}`}
        empty={{ icon: 'payments', title: t('empty.title'), text: t('empty.text') }}
        noMatch={{ title: t('none.title'), text: t('none.text') }}
      />
    </Page>
  );
}

type Format = Export['format'];

const base = '/reporting/v1/exports';
const askAgainMs = 1_000;
const ended: readonly Export['state'][] = ['Completed', 'Failed', 'Cancelled'];

function withoutEmpty(filters: Query): Record<string, unknown> {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));
}

function ExportButton({ filters }: { readonly filters: Query }) {
  const t = useTranslate('payments');
  const mayExport = useHasPermission('rep.export');
  const [format, setFormat] = useState<Format | undefined>(undefined);
  const [running, setRunning] = useState<string | undefined>(undefined);
  if (!mayExport) return null;
  return (
    <>
      <Menu>
        <Menu.Target>
          <Button
            variant="default"
            loading={running !== undefined}
            leftSection={<Icon name="exports" size={16} />}
          >
            {t('export.title')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setFormat('Csv')}>CSV</Menu.Item>
          <Menu.Item onClick={() => setFormat('JsonLines')}>JSON Lines</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmDialog
        isOpen={format !== undefined}
        onClose={() => setFormat(undefined)}
        title={t('export.title')}
        confirm={t('export.order')}
        run={(clientOperationId) =>
          api.post<Export>(base, {
            body: { clientOperationId, format, transactions: withoutEmpty(filters) },
          })
        }
        onDone={({ exportId }) => {
          setFormat(undefined);
          setRunning(exportId);
        }}
      >
        <p className="sy-dialogue-text">{t('export.text')}</p>
      </ConfirmDialog>
      {running !== undefined && (
        <ExportUnderWay exportId={running} onEnd={() => setRunning(undefined)} />
      )}
    </>
  );
}

/** Polls the export; the download starts when it is ready. */
function ExportUnderWay({
  exportId,
  onEnd,
}: {
  readonly exportId: string;
  readonly onEnd: () => void;
}) {
  const t = useTranslate('payments');
  const isEnding = useRef(false);
  const { data, error } = useQuery({
    queryKey: ['exports', exportId],
    queryFn: () => api.get<Export>(`${base}/${exportId}`, { isBackground: true }),
    refetchInterval: ({ state }) =>
      state.data !== undefined && ended.includes(state.data.state) ? false : askAgainMs,
  });
  // A lost response does not stop the export; it continues after a restart of the platform.
  const isRefused = error instanceof ProblemError && !error.problem.retryable;
  const state = isRefused ? 'Failed' : data?.state;
  const fileName = data?.fileName ?? '';
  useEffect(() => {
    if (state === undefined || !ended.includes(state) || isEnding.current) return;
    isEnding.current = true;
    if (state === 'Completed') {
      downloadExport(exportId, fileName);
      showToast(t('export.done'));
    } else showToast(t('export.failed'), 'bad');
    onEnd();
  }, [state, exportId, fileName, onEnd, t]);
  return null;
}
