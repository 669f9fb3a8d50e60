/** The logical devices of a store, with or without hardware. */
import type { LogicalDevice } from '@switchyard/contract';
import { useTranslate } from '../../locales/index.ts';
import { textColumn, timeColumn } from '../../table/columns.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { EstateList } from '../estate/estate-list.tsx';

export function LogicalDeviceList({ storeId }: { readonly storeId: string }) {
  const t = useTranslate('estate');
  return (
    <EstateList<LogicalDevice>
      kind="place"
      path={estateApiUrls.places}
      icon="terminal"
      columns={[
        textColumn(t('fields.name'), ({ name }) => name, 'lead'),
        {
          header: t('hardware.title'),
          cardPosition: 'sub',
          cell: ({ physicalDeviceIds: { length } }) =>
            length === 0 ? t('hardware.none') : t('hardware.count', { count: length }),
        },
        textColumn(t('fields.externalId'), ({ externalId }) => externalId),
        timeColumn(t('created'), ({ createdAt }) => createdAt),
      ]}
      rowKey={({ logicalDeviceId }) => logicalDeviceId}
      rowTo={({ logicalDeviceId }) => `/places/${logicalDeviceId}`}
      within={{ storeId }}
    />
  );
}
