/** One application: who it is, how it signs in, what it may do, and the calls that get it a token. */
import { Button } from '@mantine/core';
import type { Application } from '@switchyard/contract';
import { Link } from '@tanstack/react-router';
import { useParam } from '../../app/url-params.ts';
import { Problem } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { Facts, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { CopyText } from '../../components/values/copy-text.tsx';
import { EntityName } from '../../components/values/entity-name.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { Name, Time } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan, useFormats, useSession } from '../../session/use-session.ts';
import { ApplicationActions } from './application-actions.tsx';
import { Permissions } from './application-fields.tsx';
import { kindOf, ownerOf } from './application-kinds.ts';
import { useRoles } from './application-queries.ts';
import { TokenHelp } from './token-help.tsx';
import { useApplication } from './use-application.ts';
import './applications.css';

export default function ApplicationDetail() {
  const t = useTranslate('applications');
  const clientId = useParam('clientId');
  const mayAct = useCan('app.write', 'um.write');
  const { data, error, refetch } = useApplication(clientId);
  const back = { to: '/applications', label: t('title') };
  if (data === undefined) {
    return (
      <Page title={t('application')} backLink={back}>
        {error === null ? (
          <Loading lines={8} />
        ) : (
          <Problem fault={error} onRetry={() => void refetch()} />
        )}
      </Page>
    );
  }
  const { application } = data;
  const owner = ownerOf(application);
  return (
    <Page
      title={application.name}
      aside={
        <StateBadge state={application.status}>{t(`statusNames.${application.status}`)}</StateBadge>
      }
      lead={application.description}
      backLink={back}
      {...(mayAct && owner !== 'till' ? { actions: <ApplicationActions loaded={data} /> } : {})}
    >
      {error !== null && <Problem fault={error} />}
      {owner !== 'nobody' && <Owned owner={owner} />}
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

/** The platform's own applications are explained, so that nobody takes them for strangers. */
function Owned({ owner }: { readonly owner: 'devices' | 'till' }) {
  const t = useTranslate('applications');
  const maySee = useCan('prov.read');
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
  const canSeeLog = useCan('app.read', 'hook.read');
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
      <Facts
        items={[
          [t('clientId'), <CopyText key="id" text={clientId} label={t('clientId')} />],
          [t('kind'), t(`kinds.${kindOf(application)}`)],
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
            lastUsedAt === undefined ? t('never') : <Time key="used" at={lastUsedAt} />,
          ],
          [
            t('secretChanged'),
            secretChangedAt === undefined ? undefined : <Time key="secret" at={secretChangedAt} />,
          ],
          [t('created'), <Time key="created" at={createdAt} />],
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
      <Facts
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
      {brought.length > 0 && <Permissions names={brought} />}
    </Panel>
  );
}

function Addresses({ addresses }: { readonly addresses: readonly string[] }) {
  if (addresses.length === 0) return <Name>{undefined}</Name>;
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
