/** The page of an application: identity, sign-in, permissions and token commands. */
import { Button } from '@mantine/core';
import type { Application } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { usePathParam } from '../../app/url-params.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { DescriptionList, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { CopyableText } from '../../components/values/copy-text.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { DateTime, TruncatedName } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats, useHasPermission, useSession } from '../../session/use-session.ts';
import { ApplicationActions } from './application-actions.tsx';
import { PermissionList } from './application-fields.tsx';
import { type ApplicationOwner, applicationKindOf, applicationOwner } from './application-kinds.ts';
import { useRoles } from './application-queries.ts';
import { TokenHelp } from './token-help.tsx';
import { useApplication } from './use-application.ts';
import './applications.css';

export default function ApplicationDetail() {
  const t = useTranslate('applications');
  const clientId = usePathParam('clientId');
  const mayAct = useHasPermission('app.write', 'um.write');
  const { data, error, refetch } = useApplication(clientId);
  const backLink = { to: '/applications', label: t('title') };
  if (data === undefined) {
    return (
      <Page title={t('application')} backLink={backLink}>
        {error === null ? (
          <Loading lines={8} />
        ) : (
          <ErrorMessage fault={error} onRetry={() => void refetch()} />
        )}
      </Page>
    );
  }
  const { application } = data;
  const owner = applicationOwner(application);
  return (
    <Page
      title={application.name}
      aside={
        <StateBadge state={application.status}>{t(`statusNames.${application.status}`)}</StateBadge>
      }
      lead={application.description}
      backLink={backLink}
      {...(mayAct && owner !== 'till' ? { actions: <ApplicationActions loaded={data} /> } : {})}
    >
      {error !== null && <ErrorMessage fault={error} />}
      {owner !== undefined && <Owned owner={owner} />}
      {application.status === 'PendingApproval' && (
        <Note icon="clock" tone="warn">
          {t('pending')}
        </Note>
      )}
      <div className="sy-app-columns">
        <IdentityPanel application={application} />
        <Rights application={application} />
      </div>
      <TokenHelp application={application} />
    </Page>
  );
}

/** Explains applications that the platform created. */
function Owned({ owner }: { readonly owner: ApplicationOwner }) {
  const t = useTranslate('applications');
  const maySee = useHasPermission('prov.read');
  return (
    <Note icon={owner === 'devices' ? 'device' : 'terminal'}>
      {t(`owned.${owner}`)}
      {owner === 'till' && maySee && (
        <>
          {' '}
          <Link to="/points-of-sale">{t('owned.toTills')}</Link>
        </>
      )}
    </Note>
  );
}

function IdentityPanel({ application }: { readonly application: Application }) {
  const t = useTranslate('applications');
  const { organizationId } = useSession();
  const { clientId, clientType, entityId, storeId, createdAt, secretChangedAt, lastUsedAt } =
    application;
  const canSeeLog = useHasPermission('app.read', 'hook.read');
  const log = (
    <Button
      component={Link}
      to="/logs"
      search={{ clientId } as never}
      variant="default"
      size="compact-sm"
    >
      {t('requests')}
    </Button>
  );
  return (
    <Panel title={t('panels.who')} {...(canSeeLog ? { actions: log } : {})}>
      <DescriptionList
        items={[
          [t('clientId'), <CopyableText key="id" text={clientId} label={t('clientId')} />],
          [t('kind'), t(`kinds.${applicationKindOf(application)}`)],
          [t('clientType'), t(`clientTypes.${clientType}`)],
          [
            t('entity'),
            entityId === organizationId ? (
              t('organization')
            ) : (
              <EntityName key="entity" kind="merchants" id={entityId} />
            ),
          ],
          [
            t('store'),
            storeId === undefined ? undefined : (
              <EntityName key="store" kind="stores" id={storeId} />
            ),
          ],
          [
            t('lastUsed'),
            lastUsedAt === undefined ? t('never') : <DateTime key="used" at={lastUsedAt} />,
          ],
          [
            t('secretChanged'),
            secretChangedAt === undefined ? undefined : (
              <DateTime key="secret" at={secretChangedAt} />
            ),
          ],
          [t('created'), <DateTime key="created" at={createdAt} />],
        ]}
      />
    </Panel>
  );
}

function Rights({ application }: { readonly application: Application }) {
  const t = useTranslate('applications');
  const formats = useFormats();
  const { data } = useRoles();
  const { roles, securityFlows, redirectUris, webOrigins, services, accessTokenSeconds } =
    application;
  const assignedRoles = data?.roles.filter(({ role }) => roles.includes(role)) ?? [];
  const brought = [...new Set(assignedRoles.flatMap(({ permissions }) => permissions))];
  return (
    <Panel title={t('panels.rights')}>
      <DescriptionList
        items={[
          [t('flows'), securityFlows.map((flow) => t(`flowNames.${flow}`)).join(', ')],
          [t('roles'), assignedRoles.map(({ title }) => title).join(', ') || t('noRoles')],
          [t('services'), services.join(', ')],
          [t('redirectUris'), <Addresses key="uris" addresses={redirectUris} />],
          [t('webOrigins'), <Addresses key="origins" addresses={webOrigins} />],
          [
            t('tokenSeconds'),
            accessTokenSeconds === undefined
              ? undefined
              : t('seconds', {
                  count: accessTokenSeconds,
                  seconds: formats.number(accessTokenSeconds),
                }),
          ],
          [t('tokenAlgorithm'), application.accessTokenAlgorithm],
          [t('tokenType'), application.accessTokenType],
          [
            t('callbackError'),
            securityFlows.includes('AuthorizationCode')
              ? t(`callbackErrors.${application.callbackError}`)
              : undefined,
          ],
        ].map(([label, value]) => [String(label), value === '' ? undefined : value] as const)}
      />
      {brought.length > 0 && <PermissionList names={brought} />}
    </Panel>
  );
}

function Addresses({ addresses }: { readonly addresses: readonly string[] }) {
  if (addresses.length === 0) return <TruncatedName>{undefined}</TruncatedName>;
  return (
    <ul className="sy-app-addresses">
      {addresses.map((each) => (
        <li key={each} className="sy-broken">
          {each}
        </li>
      ))}
    </ul>
  );
}
