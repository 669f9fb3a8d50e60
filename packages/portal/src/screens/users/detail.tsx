/** One person: who it is, in which groups, where signed in, and what an administrator may do. */
import type { UserView } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useParam } from '../../app/url-params.ts';
import { Problem } from '../../components/layout/error-message.tsx';
import { Facts, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { CopyText } from '../../components/values/copy-text.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { Time } from '../../components/values/values.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useCan } from '../../session/use-session.ts';
import { UserActions } from './user-actions.tsx';
import { Sessions } from './user-sessions.tsx';
import { groupOf, nameOf } from './users-table.tsx';
import { useUsersAddress } from './users-url.ts';
import './users.css';

export default function UserDetail() {
  const t = useTranslate('users');
  const userId = useParam('userId');
  const address = `${useUsersAddress()}/${userId}`;
  const mayWrite = useCan('um.write');
  const { data, error, refetch } = useQuery({
    queryKey: ['user', userId],
    queryFn: ({ signal }) => api.get<UserView>(address, { signal }),
  });
  const back = { to: '/users', label: t('title') };
  if (data === undefined) {
    return (
      <Page title={t('user')} backLink={back}>
        {error === null ? (
          <Loading lines={8} />
        ) : (
          <Problem fault={error} onRetry={() => void refetch()} />
        )}
      </Page>
    );
  }
  return (
    <Page
      title={data.username}
      aside={<StateBadge state={data.status}>{t(`statuses.${data.status}`)}</StateBadge>}
      lead={nameOf(data)}
      backLink={back}
      {...(mayWrite ? { actions: <UserActions user={data} /> } : {})}
    >
      {error !== null && <Problem fault={error} />}
      <div className="sy-user-columns">
        <Profile user={data} />
        <Sessions userId={userId} />
      </div>
    </Page>
  );
}

function Profile({ user }: { readonly user: UserView }) {
  const t = useTranslate('users');
  return (
    <Panel title={t('facts')}>
      <Facts
        items={[
          [t('email'), user.email],
          [t('emailState'), t(user.emailVerified ? 'verified' : 'unverified')],
          [t('pendingEmail'), user.pendingEmail],
          [t('phone'), user.phoneNumber],
          [t('groups'), user.groups.map((group) => t(`groupNames.${groupOf(group)}`)).join(', ')],
          [t('secondFactor'), t(`factors.${user.secondFactor}`)],
          [t('locale'), user.locale],
          [t('zone'), user.zoneinfo],
          [t('created'), <Time key="created" at={user.createdAt} />],
          [t('identifier'), <CopyText key="id" text={user.userId} label={t('identifier')} />],
        ]}
      />
    </Panel>
  );
}
