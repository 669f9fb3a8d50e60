/** The page of an application: identity, sign-in, permissions and token commands. */
import './applications.css';
import { Button } from '@mantine/core';
import type { Application } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../api/client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { DescriptionList, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { CodeBlock } from '../../components/values/code-block.tsx';
import { copyItem, nameItem, timeItem } from '../../components/values/description-items.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { TruncatedName } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useFormats, useHasPermission, useSession } from '../../session/use-session.ts';
import { ApplicationActions } from './application-actions.tsx';
import { applicationKindOf, type ManagingResource, managingResource } from './application-kinds.ts';
import { useApplication, useRoles } from './application-queries.ts';
import { PermissionList } from './role-field.tsx';
import { type TokenEndpoints, tokenCommands } from './token-commands.ts';

export default function ApplicationDetail() {
  const t = useTranslate('applications');
  const clientId = usePathParam('clientId');
  const mayAct = useHasPermission('app.write', 'um.write');
  const query = useApplication(clientId);
  const { data, error } = query;
  const backLink = { to: '/applications', label: t('title') };
  if (data === undefined)
    return <PendingPage query={query} title={t('application')} backLink={backLink} />;
  const { body: application } = data;
  const owner = managingResource(application);
  return (
    <Page
      title={application.name}
      aside={
        <StateBadge state={application.status}>{t(`statusNames.${application.status}`)}</StateBadge>
      }
      lead={application.description}
      backLink={backLink}
      actions={mayAct && owner !== 'till' && <ApplicationActions loaded={data} />}
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
function Owned({ owner }: { readonly owner: ManagingResource }) {
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
    <Panel title={t('panels.who')} actions={canSeeLog && log}>
      <DescriptionList
        items={[
          copyItem(t('fields.clientId'), clientId),
          [t('kind'), t(`kinds.${applicationKindOf(application)}`)],
          [t('clientType'), t(`clientTypes.${clientType}`)],
          entityId === organizationId
            ? [t('entity'), t('organization')]
            : nameItem(t('entity'), 'merchants', entityId),
          nameItem(t('store'), 'stores', storeId),
          lastUsedAt === undefined
            ? [t('lastUsed'), t('never')]
            : timeItem(t('lastUsed'), lastUsedAt),
          timeItem(t('secretChanged'), secretChangedAt),
          timeItem(t('created'), createdAt),
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
    <Panel title={t('sections.rights')}>
      <DescriptionList
        items={[
          [t('fields.securityFlows'), securityFlows.map((flow) => t(`options.${flow}`)).join(', ')],
          [t('fields.roles'), assignedRoles.map(({ title }) => title).join(', ') || t('noRoles')],
          [t('fields.services'), services.join(', ')],
          [t('fields.redirectUris'), <Addresses key="uris" addresses={redirectUris} />],
          [t('fields.webOrigins'), <Addresses key="origins" addresses={webOrigins} />],
          [
            t('fields.accessTokenSeconds'),
            accessTokenSeconds &&
              t('seconds', {
                count: accessTokenSeconds,
                seconds: formats.number(accessTokenSeconds),
              }),
          ],
          [t('fields.accessTokenAlgorithm'), application.accessTokenAlgorithm],
          [t('fields.accessTokenType'), application.accessTokenType],
          [
            t('fields.callbackError'),
            securityFlows.includes('AuthorizationCode')
              ? t(`options.${application.callbackError}`)
              : undefined,
          ],
        ]}
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

function TokenHelp({ application }: { readonly application: Application }) {
  const t = useTranslate('applications');
  const { userDomainId } = useSession();
  const { data, error, refetch } = useQuery({
    queryKey: ['realm', userDomainId],
    queryFn: ({ signal }) =>
      api.get<TokenEndpoints>(`/auth/realms/${userDomainId}/.well-known/openid-configuration`, {
        signal,
      }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error !== null) return <ErrorMessage fault={error} onRetry={() => void refetch()} />;
  if (data === undefined) return null;
  const usesSignIn = application.securityFlows.includes('AuthorizationCode');
  const calls = tokenCommands(application, data, managingResource(application) === 'devices');
  return (
    <Panel title={t('panels.token')}>
      <div className="sy-app-token">
        <DescriptionList
          items={[
            copyItem(t('issuer'), data.issuer),
            copyItem(t('tokenAddress'), data.token_endpoint),
            copyItem(t('signInAddress'), usesSignIn ? data.authorization_endpoint : undefined),
          ]}
        />
        {calls.map(({ name, text }) => (
          <div key={name} className="sy-app-call">
            <h3>{t(`calls.${name}`)}</h3>
            <CodeBlock text={text} label={t(`calls.${name}`)} />
          </div>
        ))}
      </div>
    </Panel>
  );
}
