/** The acquirer contracts of a merchant. */
import type { AcquirerContract } from '@switchyard/contract';
import { EntityName } from '../../components/values/entity-name.tsx';
import { TruncatedName } from '../../components/values/values.tsx';
import { type Translate, useTranslate } from '../../locales/index.ts';
import type { Column } from '../../table/data-table.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { EstateList } from '../estate/estate-list.tsx';

function columnsOf(t: Translate): Column<AcquirerContract>[] {
  return [
    {
      id: 'name',
      header: t('fields.name'),
      cardPosition: 'lead',
      cell: ({ name }) => <TruncatedName>{name}</TruncatedName>,
    },
    {
      id: 'link',
      header: t('fields.acquirerLink'),
      cell: ({ acquirerLink }) => <EntityName kind="acquirer-links" id={acquirerLink} />,
    },
    {
      id: 'number',
      header: t('fields.acquirerMerchantId'),
      cardPosition: 'sub',
      cell: ({ acquirerMerchantId }) => <TruncatedName>{acquirerMerchantId}</TruncatedName>,
    },
    {
      id: 'terminals',
      header: t('fields.terminals'),
      cell: ({ terminalIdRange: { from, to } }) => (
        <TruncatedName>{`${from} – ${to}`}</TruncatedName>
      ),
    },
    {
      id: 'currencies',
      header: t('fields.currencies'),
      cell: ({ currencies }) => <TruncatedName>{currencies.join(', ')}</TruncatedName>,
    },
    {
      id: 'capture',
      header: t('fields.defaultCaptureMode'),
      width: '9rem',
      cell: ({ defaultCaptureMode }) => t(`options.${defaultCaptureMode}`),
    },
  ];
}

export function ContractList({ merchantId }: { readonly merchantId: string }) {
  const t = useTranslate('estate');
  return (
    <EstateList<AcquirerContract>
      kind="contract"
      address={estateApiUrls.contracts(merchantId)}
      icon="link"
      columns={columnsOf(t)}
      rowKey={({ contractId }) => contractId}
      rowTo={({ contractId }) => `/merchants/${merchantId}/contracts/${contractId}`}
    />
  );
}
