/** The sidebar: the name of the organisation and the screens that the user may open. */
import { Link } from '@tanstack/react-router';
import { currentPortal } from '../app/current-portal.ts';
import { useScreens } from '../app/use-screens.ts';
import { Icon } from '../components/icon.tsx';
import { useTranslate } from '../locales/index.ts';
import { navigationFor } from '../navigation.ts';
import { useSession } from '../session/use-session.ts';

export function Sidebar() {
  const t = useTranslate('navigation');
  const session = useSession();
  return (
    <>
      <div className="sy-organization">
        <img src="/portal/mark.svg" alt="" width="30" height="30" />
        <div>
          <strong className="sy-cut" title={session.organizationName}>
            <bdi>{session.organizationName}</bdi>
          </strong>
          <span className="sy-cut" title={session.merchantName}>
            {session.merchantName !== undefined ? (
              <bdi>{session.merchantName}</bdi>
            ) : (
              t(currentPortal === 'portal' ? 'portal' : 'providerPortal')
            )}
          </span>
        </div>
      </div>
      <nav className="sy-nav" aria-label={t('label')}>
        {navigationFor(useScreens(), session, currentPortal).map(({ labelKey, items }) => (
          <div key={labelKey} className="sy-nav-section">
            <h2 id={`nav-${labelKey}`}>{t(`sections.${labelKey}`)}</h2>
            <ul aria-labelledby={`nav-${labelKey}`}>
              {items.map((item) => (
                <li key={item.to}>
                  <Link
                    to={item.to}
                    activeOptions={{ exact: item.to === '/', includeSearch: false }}
                    activeProps={{ 'aria-current': 'page' }}
                  >
                    <Icon name={item.icon} size={17} />
                    {t(`items.${item.labelKey}`)}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
    </>
  );
}
