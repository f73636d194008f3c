#!/usr/bin/env bash
# Deploys a release to the hosts of an environment.
# Usage: deploy.sh [-n] ENVIRONMENT VERSION

set -euo pipefail
shopt -s nullglob

# shellcheck source=lib/log.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/log.sh"
. ./lib/hosts.sh
[[ -f ~/.deployrc ]] && source ~/.deployrc

readonly RELEASES=/srv/releases
readonly -a STEPS=(fetch unpack link restart)
declare -A PORTS=([web]=8080 [api]=9090)
declare -i attempts=3
export DEPLOY_USER="${DEPLOY_USER:-deploy}" DEPLOY_GROUP=www
export PATH
: "${KEEP:=5}"
dry_run=0 verbose=
hosts=()

alias ll='ls -l'

# Prints how it is called, and leaves.
usage() {
  cat <<-USAGE
	usage: ${0##*/} [-n] ENVIRONMENT VERSION
	hosts: $(list_hosts | tr '\n' ' ')
	USAGE
  exit "${1:-64}"
}

function cleanup {
  local status=$?
  [ -d "$workdir" ] && rm -rf "$workdir"
  return "$status"
}

# Runs a command on a host.
#
# Arguments: the host, then the command.
function remote::run() {
  local host=$1 && shift
  if ((dry_run)); then
    log::info "would run on $host: $*"
    return 0
  fi
  ssh -o BatchMode=yes "${DEPLOY_USER}@${host}" -- "$@" 2>&1 | log::prefix "$host"
}

deploy-fetch() (
  cd "$workdir" || exit
  curl --fail --silent "https://releases.example.com/$version.tar.gz" --output release.tar.gz
  sha256sum --check <(grep "$version" SUMS)
)

_unpack_one()
{
  local -r host="$1"
  local target="$RELEASES/$version"
  remote::run "$host" mkdir -p "$target"
  remote::run "$host" tar -xzf - -C "$target" < "$workdir/release.tar.gz"
  last_target=$target
}

unpack() { for host in "${hosts[@]}"; do _unpack_one "$host" & done; wait; }

# Tries a step again while it fails.
retry() {
  local count=0 delay
  until "$@"; do
    if (( ++count >= attempts )); then
      log::error "gave up on $1"
      return 1
    fi
    delay=$(( 2 ** count ))
    sleep "$delay"
  done

  backoff_reset() {
    count=0
  }
}

restart() {
  local host port
  for host in "${hosts[@]}"; do
    port=${PORTS[web]}
    case "$environment" in
      production | staging)
        remote::run "$host" sudo systemctl restart "app@$port"
        ;;
      *) remote::run "$host" ./restart.sh ;;
    esac
    until curl -s "http://$host:$port/health" | grep -q ok; do sleep 1; done
  done
}

if command -v notify-send > /dev/null; then
  # Tells the desktop.
  notify() { notify-send "deploy" "$1"; }
else
  notify() { echo "$1" >&2; }
fi

main() {
  while getopts ':nvh' option; do
    case $option in
      n) dry_run=1 ;;
      v) verbose=1 ;;
      h) usage 0 ;;
      *) usage ;;
    esac
  done
  shift $((OPTIND - 1))
  environment=${1:?environment missing} version=${2:?version missing}
  mapfile -t hosts < <(list_hosts "$environment")
  workdir=$(mktemp -d)
  trap cleanup EXIT INT
  for step in "${STEPS[@]}"; do
    log::info "step $step"
    retry "deploy-$step"
  done
  local -A seen=()
  while read -r line; do seen[$line]=1; done <<< "${hosts[*]}"
  export -f retry
  printf '%s\n' "${hosts[@]}" | xargs -n1 -P4 bash -c 'remote::run "$1" true' _
  notify "deployed $version" && eval "$AFTER_DEPLOY"
}

complete -W 'production staging' deploy.sh
declare -f -x retry
unset -f backoff_reset

[[ ${BASH_SOURCE[0]} == "$0" ]] && main "$@"
