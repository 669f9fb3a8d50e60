/** The navigation: what the user may open, in groups, under the name of the house. */
import { Link } from '@tanstack/react-router';
import { entry } from '../app/current-portal.ts';
import { Icon } from '../components/icon.tsx';
import { useTranslate } from '../locales/index.ts';
import { navigationFor } from '../navigation.ts';
import { useSession } from '../session/use-session.ts';

export function Rail() {
  const t = useTranslate('navigation');
  const session = useSession();
  return (
    <>
      <div className="sy-house">
        <img src="/portal/mark.svg" alt="" width="30" height="30" />
        <div>
          <strong className="sy-cut" title={session.organizationName}>
            <bdi>{session.organizationName}</bdi>
          </strong>
          <span className="sy-cut" title={session.merchantName}>
            {session.merchantName !== undefined ? (
              <bdi>{session.merchantName}</bdi>
            ) : (
              t(entry === 'portal' ? 'portal' : 'providerPortal')
            )}
          </span>
        </div>
      </div>
      <nav className="sy-nav" aria-label={t('label')}>
        {navigationFor(session, entry).map(({ word, items }) => (
          <div key={word} className="sy-nav-section">
            <h2 id={`nav-${word}`}>{t(`sections.${word}`)}</h2>
            <ul aria-labelledby={`nav-${word}`}>
              {items.map((item) => (
                <li key={item.to}>
                  <Link
                    to={item.to}
                    activeOptions={{ exact: item.to === '/', includeSearch: false }}
                    activeProps={{ 'aria-current': 'page' }}
                  >
                    <Icon name={item.icon} size={17} />
                    <span className="sy-cut">{t(`items.${item.word}`)}</span>
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
