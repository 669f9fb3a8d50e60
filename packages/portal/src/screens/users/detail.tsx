/** The page of a user: profile, groups, sessions and actions. */
import type { UserView } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { DescriptionList, Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { copyItem, timeItem } from '../../components/values/description-items.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission } from '../../session/use-session.ts';
import { UserActions } from './user-actions.tsx';
import { UserSessions } from './user-sessions.tsx';
import { groupRoleOf, userName } from './users-table.tsx';
import { useUsersUrl } from './users-url.ts';
import './users.css';

export default function UserDetail() {
  const t = useTranslate('users');
  const userId = usePathParam('userId');
  const address = `${useUsersUrl()}/${userId}`;
  const mayWrite = useHasPermission('um.write');
  const query = useQuery({
    queryKey: ['user', userId],
    queryFn: ({ signal }) => api.get<UserView>(address, { signal }),
  });
  const { data, error } = query;
  const backLink = { to: '/users', label: t('title') };
  if (data === undefined)
    return <PendingPage query={query} title={t('user')} backLink={backLink} />;
  return (
    <Page
      title={data.username}
      aside={<StateBadge state={data.status}>{t(`statuses.${data.status}`)}</StateBadge>}
      lead={userName(data)}
      backLink={backLink}
      actions={mayWrite && <UserActions user={data} />}
    >
      {error !== null && <ErrorMessage fault={error} />}
      <div className="sy-user-columns">
        <Profile user={data} />
        <UserSessions userId={userId} />
      </div>
    </Page>
  );
}

function Profile({ user }: { readonly user: UserView }) {
  const t = useTranslate('users');
  return (
    <Panel title={t('facts')}>
      <DescriptionList
        items={[
          [t('fields.email'), user.email],
          [t('emailState'), t(user.emailVerified ? 'verified' : 'unverified')],
          [t('pendingEmail'), user.pendingEmail],
          [t('phone'), user.phoneNumber],
          [
            t('fields.groups'),
            user.groups.map((group) => t(`groupNames.${groupRoleOf(group)}`)).join(', '),
          ],
          [t('secondFactor'), t(`factors.${user.secondFactor}`)],
          [t('locale'), user.locale],
          [t('zone'), user.zoneinfo],
          timeItem(t('created'), user.createdAt),
          copyItem(t('identifier'), user.userId),
        ]}
      />
    </Panel>
  );
}
