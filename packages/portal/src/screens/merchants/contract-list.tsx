/** What acquirers have agreed with a merchant. */
import type { AcquirerContract } from '@switchyard/contract';
import { EntityName } from '../../components/values/entity-name.tsx';
import { Name } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import type { Column } from '../../table/data-table.tsx';
import { addresses } from '../estate/entity-kinds.ts';
import { EstateList } from '../estate/estate-list.tsx';

function columnsOf(t: Translate): Column<AcquirerContract>[] {
  return [
    {
      id: 'name',
      header: t('fields.name'),
      narrow: 'lead',
      cell: ({ name }) => <Name>{name}</Name>,
    },
    {
      id: 'link',
      header: t('fields.acquirerLink'),
      cell: ({ acquirerLink }) => <EntityName kind="acquirer-links" id={acquirerLink} />,
    },
    {
      id: 'number',
      header: t('fields.acquirerMerchantId'),
      narrow: 'sub',
      cell: ({ acquirerMerchantId }) => <Name>{acquirerMerchantId}</Name>,
    },
    {
      id: 'terminals',
      header: t('fields.terminals'),
      cell: ({ terminalIdRange: { from, to } }) => <Name>{`${from} – ${to}`}</Name>,
    },
    {
      id: 'currencies',
      header: t('fields.currencies'),
      cell: ({ currencies }) => <Name>{currencies.join(', ')}</Name>,
    },
    {
      id: 'capture',
      header: t('fields.defaultCaptureMode'),
      width: '9rem',
      cell: ({ defaultCaptureMode }) => t(`options.${defaultCaptureMode}`),
    },
  ];
}

export function Contracts({ merchantId }: { readonly merchantId: string }) {
  const t = useTranslate('estate');
  return (
    <EstateList<AcquirerContract>
      kind="contract"
      address={addresses.contracts(merchantId)}
      icon="link"
      columns={columnsOf(t)}
      rowKey={({ contractId }) => contractId}
      rowTo={({ contractId }) => `/merchants/${merchantId}/contracts/${contractId}`}
    />
  );
}
