/** The acquirer contracts of a merchant. */
import type { AcquirerContract } from '@switchyard/contract';
import { useTranslate } from '../../locales/index.ts';
import { nameColumn, textColumn } from '../../table/columns.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { EstateList } from '../estate/estate-list.tsx';

export function ContractList({ merchantId }: { readonly merchantId: string }) {
  const t = useTranslate('estate');
  return (
    <EstateList<AcquirerContract>
      kind="contract"
      path={estateApiUrls.contracts(merchantId)}
      icon="link"
      columns={[
        textColumn(t('fields.name'), ({ name }) => name, 'lead'),
        nameColumn(t('fields.acquirerLink'), 'acquirer-links', ({ acquirerLink }) => acquirerLink),
        textColumn(
          t('fields.acquirerMerchantId'),
          ({ acquirerMerchantId }) => acquirerMerchantId,
          'sub',
        ),
        textColumn(t('fields.terminals'), ({ terminalIdRange: { from, to } }) => `${from} – ${to}`),
        textColumn(t('fields.currencies'), ({ currencies }) => currencies.join(', ')),
        {
          header: t('fields.defaultCaptureMode'),
          width: '9rem',
          cell: ({ defaultCaptureMode }) => t(`options.${defaultCaptureMode}`),
        },
      ]}
      rowKey={({ contractId }) => contractId}
      rowTo={({ contractId }) => `/merchants/${merchantId}/contracts/${contractId}`}
    />
  );
}
