/** The form pages of the estate: what differs between the entity kinds, and one page for each form. */
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { usePathParam, useSearchParams } from '../../app/url-params.ts';
import { replaceVersioned } from '../../app/versioned-resources.ts';
import { EditPage, NewForm } from '../../components/forms/edit-page.tsx';
import type { Draft, Section } from '../../components/forms/form-fields.ts';
import { Page } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { useFormats, useSession } from '../../session/use-session.ts';
import { CredentialsDialog } from '../points-of-sale/credentials-dialog.tsx';
import { type EstateKind, estateApiUrls } from './entity-kinds.ts';
import { reloadEstate, useVersionedEntity } from './estate-data.ts';
import {
  contractSections,
  deviceFormSections,
  linkSections,
  logicalDeviceFormSections,
  merchantSections,
  pointOfSaleFormSections,
  storeFormSections,
} from './form-sections.ts';

type EntityForm = {
  /** The member of a response with the ID, which is also its name in the page address. */
  readonly idName: string;
  /** The screens and the API resources; those of a contract belong to a merchant. */
  readonly screenPath: (merchantId: string) => string;
  readonly apiPath: (merchantId: string) => string;
  /** @param asksForMerchant false in a new form of a user of a merchant */
  readonly sections: (draft: Draft, asksForMerchant: boolean) => readonly Section[];
};

const entityForms: Readonly<Record<EstateKind, EntityForm>> = {
  merchant: {
    idName: 'merchantId',
    screenPath: () => '/merchants',
    apiPath: () => estateApiUrls.merchants,
    sections: () => merchantSections,
  },
  store: {
    idName: 'storeId',
    screenPath: () => '/stores',
    apiPath: () => estateApiUrls.stores,
    sections: (_draft, asksForMerchant) => storeFormSections(asksForMerchant),
  },
  place: {
    idName: 'logicalDeviceId',
    screenPath: () => '/logical-devices',
    apiPath: () => estateApiUrls.places,
    sections: () => logicalDeviceFormSections,
  },
  device: {
    idName: 'physicalDeviceId',
    screenPath: () => '/devices',
    apiPath: () => estateApiUrls.devices,
    sections: (_draft, asksForMerchant) => deviceFormSections(asksForMerchant),
  },
  pointOfSale: {
    idName: 'pointOfSaleId',
    screenPath: () => '/points-of-sale',
    apiPath: () => estateApiUrls.pointsOfSale,
    sections: () => pointOfSaleFormSections,
  },
  link: {
    idName: 'acquirerLinkId',
    screenPath: () => '/acquirers',
    apiPath: () => estateApiUrls.links,
    sections: linkSections,
  },
  contract: {
    idName: 'contractId',
    screenPath: (merchantId) => `/merchants/${merchantId}/contracts`,
    apiPath: estateApiUrls.contracts,
    sections: () => contractSections,
  },
};

/** The page that a new form returns to: the list, or the entity that the new one belongs to. */
function useOwner(kind: EstateKind): readonly [path: string, labelKey: string] {
  const merchantId = usePathParam('merchantId');
  const { storeId } = useSearchParams();
  if (kind === 'contract') return [`/merchants/${merchantId}`, 'merchant.one'];
  if (kind !== 'place') return [entityForms[kind].screenPath(''), `${kind}.many`];
  return storeId === undefined ? ['/stores', 'store.many'] : [`/stores/${storeId}`, 'store.one'];
}

type Made = Readonly<Record<string, string>>;

export function NewEntity({ kind }: { readonly kind: EstateKind }) {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const { zone } = useFormats();
  const { merchantId = '', storeId = '' } = useSearchParams();
  const parentId = usePathParam('merchantId');
  const asksForMerchant = useSession().merchantId === undefined;
  const [credentials, setCredentials] = useState<Made | undefined>(undefined);
  const [ownerPath, labelKey] = useOwner(kind);
  const { idName, screenPath, apiPath, sections } = entityForms[kind];
  const open = (made: Made) => void navigate({ to: `${screenPath(parentId)}/${made[idName]}` });
  return (
    <Page
      title={t(`kinds.${kind}.new`)}
      lead={t(`kinds.${kind}.lead`)}
      backLink={{ to: ownerPath, label: t(`kinds.${labelKey}`) }}
    >
      <NewForm<Made>
        t={t}
        sections={(draft) => sections(draft, asksForMerchant)}
        // The default of a merchant is the time zone of the user.
        preset={{ merchantId, storeId, ...(kind === 'merchant' && { timeZone: zone }) }}
        confirm={t('create')}
        run={(body, idempotencyKey) => api.post(apiPath(parentId), { body, idempotencyKey })}
        onDone={(made) => {
          reloadEstate();
          showToast(t(`kinds.${kind}.made`));
          if (kind === 'pointOfSale') setCredentials(made);
          else open(made);
        }}
        onCancel={() => void navigate({ to: ownerPath })}
      />
      {credentials !== undefined && (
        <CredentialsDialog
          clientId={credentials['clientId'] ?? ''}
          clientSecret={credentials['clientSecret'] ?? ''}
          onClose={() => open(credentials)}
        />
      )}
    </Page>
  );
}

export function EditEntity({ kind }: { readonly kind: EstateKind }) {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const parentId = usePathParam('merchantId');
  const isOfOrganization = useSession().merchantId === undefined;
  const { idName, screenPath, apiPath, sections } = entityForms[kind];
  const id = usePathParam(idName);
  const path = `${apiPath(parentId)}/${id}`;
  const entityPath = `${screenPath(parentId)}/${id}`;
  const { name } = useVersionedEntity<{ name?: string }>(path).data?.body ?? {};
  const leave = () => void navigate({ to: entityPath });
  return (
    <EditPage
      t={t}
      name="estate"
      path={path}
      title={t(`kinds.${kind}.edit`)}
      backLink={{ to: entityPath, label: name || t(`kinds.${kind}.one`) }}
      // A store shows its merchant, which cannot change.
      sections={(draft) => sections(draft, isOfOrganization || kind === 'store')}
      confirm={t('save')}
      outdated={t('outdated')}
      run={(body, etag) => replaceVersioned(path, etag, body)}
      onDone={() => {
        reloadEstate();
        showToast(t(`kinds.${kind}.changed`));
        leave();
      }}
      onCancel={leave}
    />
  );
}
