/** Links to screens that the sidebar also contains. */
import { Link } from '@tanstack/react-router';
import { currentPortal } from '../../app/current-portal.ts';
import { useScreens } from '../../app/use-screens.ts';
import { Icon } from '../../components/icon.tsx';
import { useTranslate } from '../../locales/index.ts';
import { navigationFor } from '../../navigation.ts';
import { useSession } from '../../session/use-session.ts';

const displayLimit = 8;

export function ScreenLinks() {
  const names = useTranslate('navigation');
  const session = useSession();
  const items = navigationFor(useScreens(), session, currentPortal)
    .flatMap((section) => section.items)
    .filter(({ to }) => to !== '/')
    // The sidebar contains all screens.
    .slice(0, displayLimit);
  return (
    <ul className="sy-ways">
      {items.map(({ to, labelKey, icon }) => (
        <li key={to}>
          <Link to={to}>
            <Icon name={icon} size={18} />
            <span className="sy-cut">{names(`items.${labelKey}`)}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
