/** One point of sale: where it sells, as whom it gets its tokens, and a new secret for it. */
import { Menu } from '@mantine/core';
import type { PointOfSale } from '@switchyard/contract';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { useParam } from '../../app/url-params.ts';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { Icon } from '../../components/icon.tsx';
import { Facts, Page, Panel } from '../../components/layout/page.tsx';
import { CopyText } from '../../components/values/copy-text.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan } from '../../session/use-session.ts';
import { LabelList, PageInWait, StatusBadge, useCommonFacts } from '../estate/detail-page.tsx';
import { EntityActions } from '../estate/entity-actions.tsx';
import { addresses } from '../estate/entity-kinds.ts';
import { useEstateChanged, useVersioned } from '../estate/versioned-entities.ts';
import { Credentials } from './credentials.tsx';

type Secret = { readonly clientId: string; readonly clientSecret: string };

function Renewal({
  address,
  etag,
  onClose,
  onRenewed,
}: {
  readonly address: string;
  readonly etag: string;
  readonly onClose: () => void;
  readonly onRenewed: (secret: Secret) => void;
}) {
  const t = useTranslate('estate');
  const changed = useEstateChanged();
  return (
    <ConfirmAction<Secret>
      isOpen
      isDangerous
      onClose={onClose}
      title={t('renew.title')}
      confirm={t('renew.do')}
      run={(idempotencyKey) =>
        api.post<Secret>(`${address}/secret`, { headers: { 'if-match': etag }, idempotencyKey })
      }
      onDone={(secret) => {
        changed();
        onRenewed(secret);
      }}
    >
      <p className="sy-dialogue-text">{t('renew.text')}</p>
    </ConfirmAction>
  );
}

function PosFacts({ pointOfSale }: { readonly pointOfSale: PointOfSale }) {
  const t = useTranslate('estate');
  const common = useCommonFacts(pointOfSale.pointOfSaleId, pointOfSale);
  const { storeId, merchantId, clientId } = pointOfSale;
  return (
    <Panel title={t('sections.pointOfSale')}>
      <Facts
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
          [
            t('credentials.clientId'),
            <CopyText key="client" text={clientId} label={t('credentials.clientId')} />,
          ],
          ...common,
        ]}
      />
    </Panel>
  );
}

export default function PointOfSalePage() {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const pointOfSaleId = useParam('pointOfSaleId');
  const address = addresses.pointOfSale(pointOfSaleId);
  const query = useVersioned<PointOfSale>(address);
  const mayWrite = useCan('prov.write');
  const [isRenewing, setRenewing] = useState(false);
  const [secret, setSecret] = useState<Secret | undefined>(undefined);
  const back = { to: '/points-of-sale', label: t('kinds.pointOfSale.many') };
  if (query.data === undefined) {
    return <PageInWait query={query} title={t('kinds.pointOfSale.one')} backLink={back} />;
  }
  const { body, etag } = query.data;
  return (
    <Page
      title={body.name}
      aside={<StatusBadge status={body.status} />}
      backLink={back}
      actions={
        <EntityActions
          kind="pointOfSale"
          address={address}
          versioned={query.data}
          editTo={`/points-of-sale/${pointOfSaleId}/edit`}
          mayWrite={mayWrite}
          onDeleted={() => void navigate({ to: back.to })}
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
        <Renewal
          address={address}
          etag={etag}
          onClose={() => setRenewing(false)}
          onRenewed={(renewed) => {
            setRenewing(false);
            setSecret(renewed);
          }}
        />
      )}
      {secret !== undefined && <Credentials {...secret} onClose={() => setSecret(undefined)} />}
    </Page>
  );
}
