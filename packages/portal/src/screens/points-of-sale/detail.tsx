/** The page of a point of sale: store, client and secret rotation. */
import { Menu } from '@mantine/core';
import type { PointOfSale } from '@switchyard/contract';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { ActionDialog } from '../../components/forms/action-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { DescriptionList, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { copyItem } from '../../components/values/description-items.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { LabelList, StatusBadge, useCommonDetails } from '../estate/detail-page.tsx';
import { EntityActions } from '../estate/entity-actions.tsx';
import { estateApiUrls } from '../estate/entity-kinds.ts';
import { reloadEstate, useVersionedEntity } from '../estate/estate-data.ts';
import { CredentialsDialog } from './credentials-dialog.tsx';

type Secret = { readonly clientId: string; readonly clientSecret: string };

function PosFacts({ pointOfSale }: { readonly pointOfSale: PointOfSale }) {
  const t = useTranslate('estate');
  const common = useCommonDetails(pointOfSale.pointOfSaleId, pointOfSale);
  const { storeId, merchantId, clientId } = pointOfSale;
  return (
    <Panel title={t('sections.pointOfSale')}>
      <DescriptionList
        items={[
          [
            t('fields.storeId'),
            <Link key="store" className="sy-link" to={`/stores/${storeId}`}>
              <EntityName kind="stores" id={storeId} />
            </Link>,
          ],
          [
            t('fields.merchantId'),
            <Link key="merchant" className="sy-link" to={`/merchants/${merchantId}`}>
              <EntityName kind="merchants" id={merchantId} />
            </Link>,
          ],
          copyItem(t('credentials.clientId'), clientId),
          ...common,
        ]}
      />
    </Panel>
  );
}

export default function PointOfSalePage() {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const pointOfSaleId = usePathParam('pointOfSaleId');
  const address = estateApiUrls.pointOfSale(pointOfSaleId);
  const query = useVersionedEntity<PointOfSale>(address);
  const mayWrite = useHasPermission('prov.write');
  const [isRenewing, setRenewing] = useState(false);
  const [secret, setSecret] = useState<Secret | undefined>(undefined);
  const backLink = { to: '/points-of-sale', label: t('kinds.pointOfSale.many') };
  if (query.data === undefined) {
    return <PendingPage query={query} title={t('kinds.pointOfSale.one')} backLink={backLink} />;
  }
  const { body, etag } = query.data;
  return (
    <Page
      title={body.name}
      aside={<StatusBadge status={body.status} />}
      backLink={backLink}
      actions={
        <EntityActions
          kind="pointOfSale"
          address={address}
          versioned={query.data}
          editTo={`/points-of-sale/${pointOfSaleId}/edit`}
          mayWrite={mayWrite}
          onDeleted={() => void navigate({ to: backLink.to })}
          items={
            <Menu.Item
              leftSection={<Icon name="key" size={16} />}
              onClick={() => setRenewing(true)}
            >
              {t('renew.do')}
            </Menu.Item>
          }
        />
      }
    >
      <PosFacts pointOfSale={body} />
      <LabelList labels={body.labels} />
      {isRenewing && (
        <ActionDialog<Secret>
          t={t}
          action="renew"
          isDangerous
          run={(idempotencyKey) =>
            api.post(`${address}/secret`, { headers: { 'if-match': etag }, idempotencyKey })
          }
          doneText={() => undefined}
          onClose={() => setRenewing(false)}
          onDone={(renewed) => {
            reloadEstate();
            setSecret(renewed);
          }}
        />
      )}
      {secret !== undefined && (
        <CredentialsDialog {...secret} onClose={() => setSecret(undefined)} />
      )}
    </Page>
  );
}
