/** The user menu: name, language, colour scheme and sign-out. */
import { Menu, UnstyledButton, useMantineColorScheme } from '@mantine/core';
import { useState } from 'react';
import { api } from '../api/client.ts';
import { Icon } from '../components/icon.tsx';
import { showToast } from '../components/toasts/toast-store.ts';
import {
  type Language,
  languages,
  setLanguage,
  useLanguage,
  useTranslate,
} from '../locales/index.ts';
import { tour } from '../screens/tour/tour-state.ts';
import { useSessionState } from '../session/session-monitor-context.ts';
import { signInUrl } from '../session/signed-in-user.ts';
import { useSession } from '../session/use-session.ts';

const schemes = [
  ['light', 'sun'],
  ['dark', 'moon'],
  ['auto', 'display'],
] as const;

function initials(name: string): string {
  const words = name.split(/\s+/).filter((word) => word !== '');
  return [words.at(0), words.length > 1 ? words.at(-1) : undefined]
    .map((word) => [...(word ?? '')][0] ?? '')
    .join('')
    .toUpperCase();
}

async function signOut(onLeft: () => void): Promise<void> {
  const answer = await api.post<{ location?: string } | undefined>('/portal/sign-out');
  onLeft();
  location.assign(answer?.location ?? signInUrl('/'));
}

export default function UserMenu() {
  const t = useTranslate('shell');
  const { user, groups, accountUrl, environment } = useSession();
  const tTour = useTranslate('tour');
  const { announceSignOut } = useSessionState();
  const [isBusy, setBusy] = useState(false);
  const name = user.name === '' ? user.username : user.name;
  const leave = () => {
    setBusy(true);
    signOut(announceSignOut).catch(() => {
      setBusy(false);
      showToast(t('signOutFailed'), 'bad');
    });
  };
  return (
    <Menu width={260} withinPortal={false}>
      <Menu.Target>
        <UnstyledButton className="sy-user" title={t('account', { name })}>
          <span className="sy-avatar" aria-hidden="true">
            {initials(name)}
          </span>
          <span className="sy-user-name sy-cut">
            <bdi>{name}</bdi>
          </span>
          <Icon name="chevronDown" size={14} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <div className="sy-user-facts">
          <strong className="sy-broken">{name}</strong>
          <span className="sy-broken">{user.email}</span>
          {groups.map((group) => (
            <span key={group}>{t(`groups.${group.replace(/^.*?_/, '')}`)}</span>
          ))}
        </div>
        <Menu.Item component="a" href={accountUrl} leftSection={<Icon name="account" size={16} />}>
          {t('ownAccount')}
        </Menu.Item>
        {environment === 'demo' && (
          <Menu.Item leftSection={<Icon name="play" size={16} />} onClick={tour.begin}>
            {tTour('menu')}
          </Menu.Item>
        )}
        <Menu.Divider />
        <Choices />
        <Menu.Divider />
        <Menu.Item
          leftSection={<Icon name="signOut" size={16} />}
          disabled={isBusy}
          closeMenuOnClick={false}
          onClick={leave}
        >
          {t('signOut')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Stored in this browser. */
function Choices() {
  const t = useTranslate('shell');
  const language = useLanguage();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <>
      <Menu.Label>{t('language')}</Menu.Label>
      {(Object.keys(languages) as Language[]).map((each) => (
        <Menu.Item
          key={each}
          lang={each}
          leftSection={<Icon name={each === language ? 'check' : 'language'} size={16} />}
          aria-current={each === language}
          onClick={() => void setLanguage(each, true)}
        >
          {languages[each]}
        </Menu.Item>
      ))}
      <Menu.Label>{t('scheme.title')}</Menu.Label>
      {schemes.map(([scheme, icon]) => (
        <Menu.Item
          key={scheme}
          leftSection={<Icon name={scheme === colorScheme ? 'check' : icon} size={16} />}
          aria-current={scheme === colorScheme}
          onClick={() => setColorScheme(scheme)}
        >
          {t(`scheme.${scheme}`)}
        </Menu.Item>
      ))}
    </>
  );
}
